#include "runtime/neighbour_link.hpp"

#include <algorithm>
#include <utility>

namespace tferry::runtime {
namespace {

constexpr std::size_t kAlignment = 4096;

/// The neighbour's context while it lives.
class InContext {
 public:
  InContext(const cuda::Driver& driver, CUcontext context)
      : driver_(driver), pushed_(driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~InContext() {
    CUcontext none = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&none);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  explicit operator bool() const { return pushed_; }

 private:
  const cuda::Driver& driver_;
  bool pushed_;
};

bool reaches(const cuda::Driver& driver, CUdevice from, CUdevice to) {
  int can = 0;
  return driver.cuDeviceCanAccessPeer != nullptr &&
         driver.cuDeviceCanAccessPeer(&can, from, to) == CUDA_SUCCESS && can != 0;
}

}  // namespace

std::unique_ptr<NeighbourLink> NeighbourLink::open(const cuda::Driver& driver, CUdevice own,
                                                   trace::CopyRoute route, std::string& why) {
  int count = 0;
  driver.cuDeviceGetCount(&count);
  if (count < 2) {
    why = "this process sees one GPU only (CUDA_VISIBLE_DEVICES)";
    return nullptr;
  }
  why = "no other GPU can be reached by this one directly";
  if (route.via >= count || route.via == own) {
    why = "GPU " + std::to_string(route.via) + " is no neighbour of it in this process";
    return nullptr;
  }
  for (int step = 1; step < count; ++step) {
    const CUdevice via = route.via >= 0 ? route.via : (own + step) % count;
    if (!reaches(driver, own, via)) continue;
    std::unique_ptr<NeighbourLink> link(new NeighbourLink(driver, own, via, route.way));
    if (link->make(why)) return link;
    break;
  }
  return nullptr;
}

NeighbourLink::NeighbourLink(const cuda::Driver& driver, CUdevice own, CUdevice via,
                             trace::CopyRoute::Way way)
    : driver_(driver), own_(own), via_(via), way_(way) {}

NeighbourLink::~NeighbourLink() {
  give_up();
  release();
}

bool NeighbourLink::make(std::string& why) {
  if (driver_.cuDevicePrimaryCtxRetain(&context_, via_) != CUDA_SUCCESS) {
    context_ = nullptr;
    why = "GPU " + std::to_string(via_) + " has no room for a context";
    return false;
  }
  constexpr std::size_t kTotal = 2 * kStages * kPiece;
  bool made = false;
  for (std::size_t total = kTotal; total >= 2 * kStages * kAlignment && !made; total /= 2)
    made = make_stages(total);
  const CUdeviceptr out = memory_ + kStages * piece_;
  if (made && make_lane(in_, true, memory_) && make_lane(out_, false, out)) return true;
  why = "GPU " + std::to_string(via_) + " has no room for stages, or they cannot be shared with it";
  broken_ = true;
  return false;
}

bool NeighbourLink::make_stages(std::size_t total) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {via_}};
  std::size_t granularity = 0;
  if (driver_.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
          CUDA_SUCCESS ||
      granularity == 0 || total % granularity != 0)
    return false;
  if (driver_.cuMemCreate(&handle_, total, &properties, 0) != CUDA_SUCCESS) {
    handle_ = 0;
    return false;
  }
  memory_bytes_ = total;
  CUmemAccessDesc access[2] = {{{CU_MEM_LOCATION_TYPE_DEVICE, {via_}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                               {{CU_MEM_LOCATION_TYPE_DEVICE, {own_}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  if (driver_.cuMemAddressReserve(&memory_, total, 0, 0, 0) != CUDA_SUCCESS) memory_ = 0;
  mapped_ = memory_ != 0 && driver_.cuMemMap(memory_, total, 0, handle_, 0) == CUDA_SUCCESS;
  if (mapped_ && driver_.cuMemSetAccess(memory_, total, access, 2) == CUDA_SUCCESS) {
    piece_ = total / (2 * kStages);
    return true;
  }
  if (mapped_) driver_.cuMemUnmap(memory_, total);
  if (memory_ != 0) driver_.cuMemAddressFree(memory_, total);
  driver_.cuMemRelease(handle_);
  mapped_ = false;
  memory_ = 0;
  handle_ = 0;
  return false;
}

bool NeighbourLink::make_lane(Lane& lane, bool in, CUdeviceptr stages) {
  const auto stream = [&](CUstream& made) {
    return driver_.cuStreamCreate(&made, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
  };
  const auto event = [&](CUevent& made) {
    return driver_.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
  };
  // Events belong to the context whose stream records them.
  bool made = stream(lane.own) && event(lane.begin) && (!in || event(lane.end));
  for (Stage& stage : lane.stages) made = made && event(in ? stage.emptied : stage.filled);
  const InContext neighbour(driver_, context_);
  made = made && neighbour && stream(lane.far) && (in || event(lane.end));
  for (std::size_t i = 0; i < kStages; ++i) {
    Stage& stage = lane.stages[i];
    stage.address = stages + i * piece_;
    made = made && event(in ? stage.filled : stage.emptied);
  }
  return made;
}

std::size_t NeighbourLink::share(std::size_t bytes) const {
  if (way_ == trace::CopyRoute::Way::kNeighbour) return bytes;
  const std::size_t part = bytes * trace::kRelayedOf32 / 32 / kAlignment * kAlignment;
  return part >= piece_ / 4 ? part : 0;
}

bool NeighbourLink::wait(CUstream stream, CUevent event) {
  return driver_.cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS;
}

bool NeighbourLink::record(CUevent event, CUstream stream) {
  return driver_.cuEventRecord(event, stream) == CUDA_SUCCESS;
}

/// What the stream waits for, the copy waits for.
bool NeighbourLink::begin(const Lane& lane, CUstream first, CUstream stream) {
  return record(lane.begin, stream) && wait(lane.own, lane.begin) &&
         (first == lane.own || wait(first, lane.begin));
}

bool NeighbourLink::relay_in(CUdeviceptr target, const std::byte* source, std::size_t bytes,
                             std::size_t relayed, CUstream stream) {
  Lane& lane = in_;
  if (!begin(lane, lane.far, stream)) return false;
  const std::size_t direct = bytes - relayed;
  if (direct > 0 && driver_.cuMemcpyHtoDAsync_v2(target, source, direct, stream) != CUDA_SUCCESS)
    return false;
  for (std::size_t at = direct; at < bytes; at += piece_) {
    Stage& stage = lane.stages[lane.next];
    lane.next = (lane.next + 1) % kStages;
    const std::size_t size = std::min(piece_, bytes - at);
    {
      const InContext neighbour(driver_, context_);
      if (!neighbour || (stage.used && !wait(lane.far, stage.emptied)) ||
          driver_.cuMemcpyHtoDAsync_v2(stage.address, source + at, size, lane.far) != CUDA_SUCCESS ||
          !record(stage.filled, lane.far))
        return false;
    }
    if (!wait(lane.own, stage.filled) ||
        driver_.cuMemcpyDtoDAsync_v2(target + at, stage.address, size, lane.own) != CUDA_SUCCESS ||
        !record(stage.emptied, lane.own))
      return false;
    stage.used = true;
  }
  return record(lane.end, lane.own) && wait(stream, lane.end);
}

bool NeighbourLink::relay_out(std::byte* target, CUdeviceptr source, std::size_t bytes, std::size_t relayed,
                              CUstream stream) {
  Lane& lane = out_;
  if (!begin(lane, lane.own, stream)) return false;
  const std::size_t direct = bytes - relayed;
  for (std::size_t at = direct; at < bytes; at += piece_) {
    Stage& stage = lane.stages[lane.next];
    lane.next = (lane.next + 1) % kStages;
    const std::size_t size = std::min(piece_, bytes - at);
    if ((stage.used && !wait(lane.own, stage.emptied)) ||
        driver_.cuMemcpyDtoDAsync_v2(stage.address, source + at, size, lane.own) != CUDA_SUCCESS ||
        !record(stage.filled, lane.own))
      return false;
    const InContext neighbour(driver_, context_);
    if (!neighbour || !wait(lane.far, stage.filled) ||
        driver_.cuMemcpyDtoHAsync_v2(target + at, stage.address, size, lane.far) != CUDA_SUCCESS ||
        !record(stage.emptied, lane.far))
      return false;
    stage.used = true;
  }
  if (direct > 0 && driver_.cuMemcpyDtoHAsync_v2(target, source, direct, stream) != CUDA_SUCCESS)
    return false;
  {
    const InContext neighbour(driver_, context_);
    if (!neighbour || !record(lane.end, lane.far)) return false;
  }
  return wait(stream, lane.end);
}

CUresult NeighbourLink::copy_in(CUdeviceptr target, const void* source, std::size_t bytes, CUstream stream) {
  const std::size_t relayed = broken_ ? 0 : share(bytes);
  if (relayed > 0) {
    if (relay_in(target, static_cast<const std::byte*>(source), bytes, relayed, stream)) return CUDA_SUCCESS;
    give_up();
  }
  return driver_.cuMemcpyHtoDAsync_v2(target, source, bytes, stream);
}

CUresult NeighbourLink::copy_out(void* target, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  const std::size_t relayed = broken_ ? 0 : share(bytes);
  if (relayed > 0) {
    if (relay_out(static_cast<std::byte*>(target), source, bytes, relayed, stream)) return CUDA_SUCCESS;
    give_up();
  }
  return driver_.cuMemcpyDtoHAsync_v2(target, source, bytes, stream);
}

/// What is queued must have ended before anything else touches its memory: no stream may wait for it.
void NeighbourLink::give_up() {
  if (std::exchange(broken_, true)) return;
  for (const Lane* lane : {&in_, &out_}) {
    for (const CUstream stream : {lane->far, lane->own}) {
      if (stream != nullptr) driver_.cuStreamSynchronize(stream);
    }
  }
}

void NeighbourLink::release() {
  for (Lane* lane : {&in_, &out_}) {
    for (const CUstream stream : {lane->far, lane->own}) {
      if (stream != nullptr) driver_.cuStreamDestroy_v2(stream);
    }
    for (const CUevent event : {lane->begin, lane->end}) {
      if (event != nullptr) driver_.cuEventDestroy_v2(event);
    }
    for (const Stage& stage : lane->stages) {
      for (const CUevent event : {stage.filled, stage.emptied}) {
        if (event != nullptr) driver_.cuEventDestroy_v2(event);
      }
    }
  }
  if (mapped_) driver_.cuMemUnmap(memory_, memory_bytes_);
  if (memory_ != 0) driver_.cuMemAddressFree(memory_, memory_bytes_);
  if (handle_ != 0) driver_.cuMemRelease(handle_);
  if (context_ != nullptr) driver_.cuDevicePrimaryCtxRelease_v2(via_);
}

}  // namespace tferry::runtime
