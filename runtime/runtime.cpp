#include "runtime/runtime.hpp"

#include "cuda/interpose.hpp"
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "trace/unified_memory_sign.hpp"

#include <algorithm>
#include <cstring>
#include <pthread.h>
#include <unistd.h>
#include <utility>

namespace tferry::runtime {
namespace {

constexpr std::size_t kHostWordsScanned = std::size_t{1}
                                          << 20;  ///< bytes of a host source that are looked through
constexpr std::size_t kRelief = std::size_t{256} << 20;

struct Global {
  Config config;
  StatusPage status;
  std::atomic<Runtime*> runtime{nullptr};
  std::atomic<bool> off{true};
  std::mutex mutex;
};

Global& global() {
  // Never destroyed: hooks are called until the very end of the process, after static destructors.
  static auto* instance = new Global;
  return *instance;
}

}  // namespace

thread_local bool ThreadOperation::busy_ = false;
thread_local Operation ThreadOperation::operation_;

StatusPage& Runtime::status() { return global().status; }

void Runtime::load() {
  Global& state = global();
  state.config = Config::from_environment();
  state.off = state.config.off || !state.config.error.empty();
  state.status.open(state.config.run_directory);
  state.status.set_log_level(state.config.log_level);
  state.status.reach(trace::JobStage::kLoaded);
  if (!state.config.error.empty()) {
    state.status.say(0, "%s; the job runs without Tensorferry", state.config.error.c_str());
  }
  if (state.off) state.status.reach(trace::JobStage::kOff);
  cuda::install_hooks(all_hooks(), !state.off);
  pthread_atfork(nullptr, nullptr, [] { leave_child(); });
}

void Runtime::leave_child() {
  global().off = true;
  global().status.detach();
}

void Runtime::end_recording() {
  if (global().off.load()) return;
  Runtime* runtime = global().runtime.load();
  if (runtime != nullptr && runtime->recorder_) runtime->recorder_->close();
}

void Runtime::end_coordination() {
  if (global().off.load()) return;
  Runtime* runtime = global().runtime.load();
  if (runtime != nullptr && runtime->coordinator_ != nullptr) runtime->coordinator_->leave();
}

Runtime* Runtime::active() {
  Global& state = global();
  if (state.off.load(std::memory_order_relaxed)) return nullptr;
  if (Runtime* runtime = state.runtime.load(std::memory_order_acquire)) return runtime;
  const cuda::Driver* driver = cuda::driver();
  if (driver == nullptr) return nullptr;
  const std::lock_guard lock(state.mutex);
  if (Runtime* runtime = state.runtime.load(std::memory_order_acquire)) return runtime;
  auto* runtime = new Runtime(*driver, state.config, state.status);
  state.status.reach(trace::JobStage::kHooked);
  state.runtime.store(runtime, std::memory_order_release);
  return runtime;
}

Runtime::Runtime(const cuda::Driver& driver, const Config& config, StatusPage& status)
    : driver_(driver),
      config_(config),
      status_(status),
      streams_(driver),
      plans_(config.plan, config.run_directory) {
  if (config_.coordination == Coordination::kOrchestrate && !config_.managed &&
      !config_.slot_segment.empty()) {
    // Turns belong to the session of a run under a plan.
    const std::string log = config_.plan.empty() || config_.run_directory.empty()
                                ? std::string()
                                : config_.run_directory + "/slots." + std::to_string(::getpid());
    coordinator_ = Coordinator::open(
        driver, {config_.slot_segment, config_.links, config_.local_rank, log, config_.turns_on_trial},
        status);
  }
  if (!config_.record) return;
  std::string error;
  recorder_ = Recorder::open(config_.run_directory, config_.spool_limit, config_.keep_last_ns, error);
  if (!recorder_) status_.say(0, "nothing is recorded: %s", error.c_str());
  if (recorder_ && config_.access_direction && !config_.managed)
    probe_ = std::make_unique<AccessProbe>(driver, *recorder_, status_);
  if (recorder_ && config_.access_pages && !config_.managed)
    pages_ = std::make_unique<PageProbe>(driver, *recorder_, status_);
  if (recorder_ && !config_.times && !config_.watch)
    other_memory_ = std::make_unique<OtherMemory>(*recorder_);
  if (recorder_ && (config_.times || config_.watch))
    timer_ = std::make_unique<OperationTimer>(driver, *recorder_, streams_);
}

DeviceMemory* Runtime::current_device(bool create) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (driver_.cuCtxGetDevice(&device) != CUDA_SUCCESS || driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
    return nullptr;
  if (device < 0 || device >= trace::kMaxDevices) return nullptr;
  const auto index = static_cast<std::size_t>(device);
  if (devices_[index] || refused_[index] || !create) return devices_[index].get();
  int count = 1;
  driver_.cuDeviceGetCount(&count);
  auto memory = std::make_unique<DeviceMemory>(
      DeviceMemory::Environment{driver_, config_, status_, streams_, recorder_.get(),
                                planned_device_ < 0 || planned_device_ == device ? &plans_ : nullptr,
                                coordinator_, config_.watch ? timer_.get() : nullptr},
      static_cast<int>(device), device, context);
  if (!memory->open(space_, std::min(count, trace::kMaxDevices))) {
    refused_[index] = true;
    status_.say(0, "GPU %d: virtual memory management is not to be had; its memory is left to the driver",
                device);
    return nullptr;
  }
  devices_[index] = std::move(memory);
  if (planned_device_ < 0) planned_device_ = device;
  status_.reach(trace::JobStage::kManaging);
  return devices_[index].get();
}

CUresult Runtime::allocate(std::size_t bytes, bool stream_ordered, CUdeviceptr* address) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  const bool capturing = g_capturing.load(std::memory_order_relaxed) > 0;
  if (config_.managed) {
    ManagedMemory* memory = current_managed(true);
    if (memory == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = memory->allocate(bytes, stream_ordered, address);
    if (result == CUDA_SUCCESS && capturing) memory->hold(*address);
    return result;
  }
  if (ManagedMemory* memory = pages_ ? current_managed(true) : nullptr) {
    const CUresult result = memory->allocate(bytes, stream_ordered, address);
    if (result == CUDA_SUCCESS && capturing) memory->hold(*address);
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
    pages_->stop(0, "the program's memory does not fit what the card had free");
    if (!fits_beside(*memory, bytes)) return result;
  }
  return allocate_explicit(bytes, stream_ordered, address);
}

CUresult Runtime::allocate_explicit(std::size_t bytes, bool stream_ordered, CUdeviceptr* address) {
  DeviceMemory* memory = current_device(true);
  if (memory == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult result = memory->allocate(bytes, stream_ordered, address);
  if (result == CUDA_SUCCESS && g_capturing.load(std::memory_order_relaxed) > 0) {
    memory->keep_resident_address(*address, trace::ResidentReason::kCaptured);
  }
  return result;
}

/// Managed memory and this much of ours are together no more than the card had free: more can hang it.
bool Runtime::fits_beside(const ManagedMemory& managed, std::size_t bytes) {
  const DeviceMemory* memory = current_device(true);
  if (memory == nullptr) return false;
  const std::size_t taken = managed.allocated_bytes() + memory->allocated_bytes();
  return taken <= managed.card_free() && bytes <= managed.card_free() - taken;
}

std::optional<CUresult> Runtime::free(CUdeviceptr address, const CUstream* stream, bool per_thread) {
  const std::unique_lock lock(mutex_);
  ManagedMemory* managed = managed_at(address);
  if (managed == nullptr && !space_.contains(address)) return std::nullopt;
  const RelaxedCapture relaxed(driver_);
  DeviceMemory* memory =
      managed == nullptr ? devices_[static_cast<std::size_t>(space_.device_of(address))].get() : nullptr;
  if (managed == nullptr && memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Moments after;
  if (stream != nullptr && is_capturing(*stream, per_thread) == CaptureState::kNo) {
    // Counted as an operation, so that it comes after the events that the stream waits for by now.
    after.add(stamp(streams_.find(*stream, per_thread)));
  } else {
    streams_.add_tails(after);
  }
  const bool capturing = g_capturing.load(std::memory_order_relaxed) > 0;
  if (managed != nullptr) {
    if (capturing) managed->hold(address);
    return managed->free(address, after) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (capturing) memory->keep_resident_address(address, trace::ResidentReason::kCaptured);
  return memory->free(address, after) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void Runtime::note_access(Operation& operation, const DeviceMemory::Named& named, CUdeviceptr address,
                          trace::AccessKind kind, std::int64_t bytes, trace::KnownBy known_by) {
  if (named.buffer_id == 0) return;
  for (const trace::AccessEntry& known : operation.details.accesses) {
    if (known.allocation == named.buffer_id && known.kind == kind) return;
  }
  trace::AccessEntry& entry = operation.details.accesses.emplace_back();
  entry.allocation = named.buffer_id;
  entry.offset = static_cast<std::int64_t>(address - named.address);
  entry.bytes = bytes;
  entry.kind = kind;
  entry.known_by = known_by;
}

void Runtime::note_other(Operation& operation, CUdeviceptr address, trace::AccessKind kind,
                         std::int64_t bytes) {
  const auto found = other_memory_->find(address);
  if (!found) return;
  note_access(operation, {nullptr, found->allocation, found->address}, address, kind, bytes,
              operation.is_launch ? trace::KnownBy::kArgument : trace::KnownBy::kCall);
}

ManagedMemory* Runtime::current_managed(bool create) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (driver_.cuCtxGetDevice(&device) != CUDA_SUCCESS || driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
      device < 0 || device >= trace::kMaxDevices)
    return nullptr;
  const auto index = static_cast<std::size_t>(device);
  if (managed_[index] || refused_[index] || unpaged_[index] || !create) return managed_[index].get();
  Recorder* recorder = pages_ ? recorder_.get() : nullptr;
  auto memory = std::make_unique<ManagedMemory>(
      ManagedMemory::Environment{driver_, config_, status_, streams_, recorder}, static_cast<int>(device),
      device, context);
  std::string error = "the driver does not answer";
  const bool recorded =
      !pages_ || ::access(trace::unified_memory_sign(config_.run_directory, ::getpid()).c_str(), F_OK) == 0;
  if (!recorded) error = "CUPTI gives no records of unified memory here";
  if (!recorded || !memory->open(error)) {
    if (pages_) {
      unpaged_[index] = true;
      status_.say(0, "access pages: GPU %d: %s; the job runs on without the pass there", device,
                  error.c_str());
      return nullptr;
    }
    refused_[index] = true;
    status_.say(0, "GPU %d: %s; its memory is left to the driver", device, error.c_str());
    return nullptr;
  }
  managed_[index] = std::move(memory);
  if (recorder != nullptr) {
    std::size_t free = 0, total = 0;
    driver_.cuMemGetInfo_v2(&free, &total);
    recorder->device(driver_, static_cast<int>(device), static_cast<std::int64_t>(total));
  }
  status_.reach(trace::JobStage::kManaging);
  return managed_[index].get();
}

ManagedMemory* Runtime::managed_at(CUdeviceptr address) const {
  for (const auto& memory : managed_) {
    if (memory && memory->contains(address)) return memory.get();
  }
  return nullptr;
}

bool Runtime::name_managed(Operation& operation, CUdeviceptr address, trace::AccessKind kind,
                           std::int64_t bytes) {
  ManagedMemory* memory = managed_at(address);
  if (memory == nullptr) return false;
  if (operation.capturing) memory->hold(address);
  if (const auto allocation = memory->find(address)) operation.add(allocation);
  if (!operation.recording || !pages_) return true;
  if (const auto view = memory->view(address)) {
    note_access(operation, {nullptr, view->buffer_id, view->address}, address, kind, bytes,
                operation.is_launch ? trace::KnownBy::kArgument : trace::KnownBy::kCall);
  }
  return true;
}

CUresult Runtime::watch_pages(Operation& operation, CUstream waited_for, const PageProbe::Launch& launch) {
  const auto in_use = [this] {
    const std::unique_lock lock(mutex_);
    const ManagedMemory* memory = current_managed(false);
    return memory != nullptr ? memory->in_use() : std::vector<ManagedRun>();
  };
  CUdevice device = -1;
  if (driver_.cuCtxGetDevice(&device) != CUDA_SUCCESS) device = -1;
  return pages_->run(static_cast<int>(device), in_use, operation.details, waited_for, launch);
}

CUresult Runtime::acquire(Operation& operation, std::unique_lock<std::mutex>& lock) {
  if (config_.managed || pages_) {
    ManagedMemory::pin(operation.managed);
    for (auto& memory : managed_) {
      // What a capture names is moved by faults when the graph runs.
      if (memory && !operation.capturing && !operation.managed.empty())
        operation.waited |= memory->acquire(operation.stream, operation.managed);
    }
    if (config_.managed) return CUDA_SUCCESS;
  }
  auto& blocks = operation.blocks;
  for (Block* block : blocks) ++block->named;
  if (operation.impossible) {
    for (Block* block : blocks) --block->named;
    status_.say(
        0,
        "out of memory: an operation reaches memory that cannot be seen, and not all memory fits the card");
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  // In the order of the arguments within a device: plans tell tensors by it.
  const auto by_device = [](const Block* a, const Block* b) { return a->device < b->device; };
  if (!std::is_sorted(blocks.begin(), blocks.end(), by_device))
    std::stable_sort(blocks.begin(), blocks.end(), by_device);
  DeviceMemory* planner = device_of(operation);
  if (planner != nullptr) planner->plan_begin(operation, blocks);
  while (true) {
    CUresult result = CUDA_SUCCESS;
    std::size_t done = 0;
    while (done < blocks.size() && result == CUDA_SUCCESS) {
      std::size_t end = done;
      while (end < blocks.size() && blocks[end]->device == blocks[done]->device) ++end;
      DeviceMemory& memory = *devices_[static_cast<std::size_t>(blocks[done]->device)];
      result = memory.acquire(operation, std::span(blocks).subspan(done, end - done));
      if (result == CUDA_SUCCESS) done = end;
    }
    if (result == CUDA_SUCCESS) {
      if (planner != nullptr) planner->plan_fetch(operation);
      return result;
    }
    for (Block* block : std::span(blocks).first(done)) --block->pins;
    if (in_flight_ == 0) {
      if (planner != nullptr) planner->plan_end(operation, false);
      for (Block* block : blocks) --block->named;
      std::size_t need = 0;
      for (const Block* block : blocks) need += block->pieces.size();
      if (!blocks.empty()) {
        const DeviceMemory& memory = *devices_[static_cast<std::size_t>(blocks[0]->device)];
        memory.say_why_not(need);
        count(status_.device(memory.ordinal()).out_of_memory);
      }
      return result;
    }
    // Other threads hold pins only between acquire and release; with theirs gone there may be room.
    ++waiting_;
    pins_dropped_.wait(lock);
    --waiting_;
  }
}

/// The device whose operation it is; null where no plan could be followed.
DeviceMemory* Runtime::device_of(const Operation& operation) const {
  if (operation.capturing || operation.signature == 0) return nullptr;
  return devices_[static_cast<std::size_t>(ordinal_of(operation))].get();
}

/// What names nothing that moves is of the device whose context submits it: the ranks of a job but the first
/// use others than device 0.
int Runtime::ordinal_of(const Operation& operation) const {
  if (!operation.blocks.empty()) return operation.blocks[0]->device;
  CUdevice device = 0;
  const bool known = driver_.cuCtxGetDevice(&device) == CUDA_SUCCESS;
  return known && device >= 0 && device < trace::kMaxDevices ? device : 0;
}

void Runtime::end(Operation& operation, bool submitted) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  --in_flight_;
  const int device = ordinal_of(operation);
  if (timer_) timer_->end(operation, device, submitted);
  for (Block* block : operation.blocks) --block->named;
  Moment moment{};
  if (submitted && !operation.capturing) moment = stamp(operation.stream);
  const Moment* stamp = submitted && !operation.capturing ? &moment : nullptr;
  ManagedMemory::release(operation.managed, stamp);
  auto& blocks = operation.blocks;
  for (std::size_t done = 0; done < blocks.size();) {
    std::size_t end = done;
    while (end < blocks.size() && blocks[end]->device == blocks[done]->device) ++end;
    devices_[static_cast<std::size_t>(blocks[done]->device)]->release(
        std::span(blocks).subspan(done, end - done), operation, stamp);
    done = end;
  }
  if (DeviceMemory* planner = device_of(operation)) {
    planner->plan_end(operation, submitted);
    if (planner->ordinal() == planned_device_) {
      following_ = planner->planned();
      watching_ = planner->watching();
    }
  }
  trace::DeviceStatus& counters = status_.device(device);
  count(counters.operations);
  if (operation.waited) count(counters.gated_operations);
  // What left since the operation before, whoever asked for the room: operations and allocations do.
  const std::int64_t out = counters.bytes_out.load(std::memory_order_relaxed);
  swapping_ = swapping_ || out > 0;
  const std::int64_t parked = out - std::exchange(logged_out_[static_cast<std::size_t>(device)], out);
  const auto signature = static_cast<std::uint32_t>(operation.signature ^ operation.signature >> 32);
  status_.log_operation(device, signature, operation.waited, operation.fetched + operation.fetched_ahead,
                        parked);
  if (operation.recording && submitted) {
    const Sequence sequence = stamp != nullptr ? moment.sequence - 1 : 0;
    // Of what is watched the timer tells how long the GPU itself waited.
    const bool gates = !config_.watch;
    recorder_->operation(operation.details, streams_.handle(operation.stream), sequence, device,
                         operation.capturing, gates ? operation.fetched : 0, gates ? operation.parked : 0);
  }
  if (waiting_ > 0) pins_dropped_.notify_all();
}

void Runtime::scan_host_words(Operation& operation, const void* source, std::size_t bytes) {
  if (source == nullptr || bytes > kHostWordsScanned || !space_.reserved()) return;
  const auto address = reinterpret_cast<CUdeviceptr>(source);
  if (space_.contains(address)) return name(operation, address);  // not for the CPU to read
  cuda::detail::visit_words_of(source, bytes, [&](std::uint64_t word) {
    if (space_.contains(word)) pin_down(operation, word, trace::ResidentReason::kPointedTo);
  });
}

void Runtime::pin_down(Operation& operation, CUdeviceptr address, trace::ResidentReason reason) {
  if (!space_.contains(address)) return;
  Block* block = gated(address);
  if (block == nullptr || block->resident_reason == trace::ResidentReason::kCaptured) return;
  DeviceMemory& memory = *devices_[static_cast<std::size_t>(block->device)];
  if (memory.keep_resident(*block, reason) != CUDA_SUCCESS) operation.impossible = true;
  // Whoever follows the pointer comes after this operation, and this operation after the fetch.
  operation.add(block);
  // A plan made from the recording has to know what stays.
  if (operation.recording && reason == trace::ResidentReason::kPointedTo)
    note_access(operation, memory.named(address, false), address, trace::AccessKind::kMayTouch, 0,
                trace::KnownBy::kTable);
}

void Runtime::hold_small(CUdeviceptr address) {
  const auto& memory = devices_[static_cast<std::size_t>(space_.device_of(address))];
  if (memory) memory->keep_resident_address(address, trace::ResidentReason::kCaptured);
}

Moment Runtime::stamp(StreamIndex stream) {
  const Moment moment = streams_.stamp(stream);
  // Soon the stream itself may be capturing, and then no event can be recorded in it.
  if (g_capturing.load(std::memory_order_relaxed) > 0) streams_.mark(stream);
  return moment;
}

Runtime::CaptureState Runtime::is_capturing(CUstream stream, bool per_thread) const {
  if (g_capturing.load(std::memory_order_relaxed) == 0) return CaptureState::kNo;
  if (stream == nullptr) stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (stream == CU_STREAM_LEGACY) return CaptureState::kNo;  // it cannot
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver_.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS) return CaptureState::kUnknown;
  return status == CU_STREAM_CAPTURE_STATUS_NONE ? CaptureState::kNo : CaptureState::kYes;
}

void Runtime::keep_resident(CUdeviceptr address, trace::ResidentReason reason) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  if (!space_.contains(address)) return;
  const auto& memory = devices_[static_cast<std::size_t>(space_.device_of(address))];
  if (memory) memory->keep_resident_address(address, reason);
}

bool Runtime::hand_over(CUdeviceptr address, trace::ResidentReason reason, const CUstream* stream) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  if (!space_.contains(address)) return true;
  Block* block = gated(address);
  if (block == nullptr) return true;
  DeviceMemory& memory = *devices_[static_cast<std::size_t>(block->device)];
  if (memory.keep_resident(*block, reason) != CUDA_SUCCESS) return false;
  const bool in_stream = stream != nullptr && g_capturing.load(std::memory_order_relaxed) == 0;
  if (in_stream) {
    streams_.wait(streams_.find(*stream, false), block->pending);
  } else {
    count(status_.device(memory.ordinal()).host_waits, streams_.wait_on_host(block->pending));
  }
  return true;
}

std::optional<AllocationView> Runtime::view(CUdeviceptr address) {
  const std::unique_lock lock(mutex_);
  if (const ManagedMemory* memory = managed_at(address)) return memory->view(address);
  if (!space_.contains(address)) return std::nullopt;
  const auto& memory = devices_[static_cast<std::size_t>(space_.device_of(address))];
  return memory ? memory->view(address) : std::nullopt;
}

void Runtime::collective_launched(Operation& operation) {
  if (collective_calls_seen_.load(std::memory_order_relaxed)) return;
  stop_moving(operation, "a collective was launched whose buffers cannot be seen");
}

void Runtime::unreadable_launch(Operation& operation) {
  stop_moving(operation, "a kernel was launched whose parameters cannot be read");
}

void Runtime::stop_moving(Operation& operation, const char* why) {
  for (auto& memory : devices_) {
    if (memory && !memory->stop_moving(why)) operation.impossible = true;
  }
}

void Runtime::stream_destroyed(CUstream stream) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  streams_.retire(stream);
}

void Runtime::stream_created(CUstream stream) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  streams_.introduce(stream);
}

void Runtime::capture_began(CUstream stream, bool per_thread) {
  const std::unique_lock lock(mutex_);
  g_capturing.fetch_add(1, std::memory_order_acq_rel);
  const RelaxedCapture relaxed(driver_);
  // What the stream has to wait for it waits for now, and all that is queued gets its events.
  streams_.find(stream, per_thread);
  streams_.mark_all();
}

void Runtime::capture_ended(CUgraph graph) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  g_capturing.fetch_sub(1, std::memory_order_acq_rel);
  if (graph != nullptr) graphs_.insert(graph);
  maybe_release_captured();
}

void Runtime::graph_instantiated(CUgraph graph, CUgraphExec exec) {
  // A graph can also be built node by node: whatever its kernels, copies and sets name stays while it lives.
  std::vector<CUgraph> open{graph};
  std::vector<CUdeviceptr> named;
  bool readable = true;
  while (!open.empty()) {
    CUgraph next = open.back();
    open.pop_back();
    std::size_t count_of_nodes = 0;
    std::vector<CUgraphNode> nodes;
    const auto get_nodes = [&] { return call(driver_.cuGraphGetNodes, next, nodes.data(), &count_of_nodes); };
    readable = readable && call(driver_.cuGraphGetNodes, next, nullptr, &count_of_nodes) == CUDA_SUCCESS;
    nodes.resize(count_of_nodes);
    readable = readable && (nodes.empty() || get_nodes() == CUDA_SUCCESS);
    if (!readable) break;
    for (CUgraphNode node : nodes) readable = read_node(node, open, named) && readable;
  }
  for (const CUdeviceptr address : named) keep_resident(address, trace::ResidentReason::kCaptured);
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  // What a capture recorded is known already; nothing is known of a graph that was built and cannot be read.
  if (!readable && !graphs_.contains(graph)) {
    for (auto& memory : devices_) {
      if (memory && !memory->stop_moving("a graph was made whose nodes cannot be read"))
        status_.say(0, "GPU %d: not all memory fits the card; results of that graph may be wrong",
                    memory->ordinal());
    }
  }
  graphs_.insert(exec);
  if (recorder_) named_by_graph_[exec] = entries_of(named);
}

std::vector<trace::AccessEntry> Runtime::entries_of(const std::vector<CUdeviceptr>& addresses) const {
  std::vector<trace::AccessEntry> entries;
  std::unordered_set<std::uint64_t> known;
  const auto add = [&](std::uint64_t allocation, CUdeviceptr begin, CUdeviceptr address) {
    if (allocation == 0 || !known.insert(allocation).second) return;
    trace::AccessEntry& entry = entries.emplace_back();
    entry.allocation = allocation;
    entry.offset = static_cast<std::int64_t>(address - begin);
    entry.kind = trace::AccessKind::kMayTouch;
    entry.known_by = trace::KnownBy::kGraph;
  };
  for (const CUdeviceptr address : addresses) {
    if (!space_.contains(address)) {
      const auto other = other_memory_ ? other_memory_->find(address) : std::nullopt;
      if (other) add(other->allocation, other->address, address);
    } else if (const auto& memory = devices_[static_cast<std::size_t>(space_.device_of(address))]) {
      const DeviceMemory::Named named = memory->named(address, true);
      add(named.buffer_id, named.address, address);
    }
  }
  return entries;
}

void Runtime::name_nodes(Operation& operation, CUgraphExec exec) {
  if (!operation.recording) return;
  const auto named = named_by_graph_.find(exec);
  if (named == named_by_graph_.end()) return;
  std::vector<trace::AccessEntry>& accesses = operation.details.accesses;
  accesses.insert(accesses.end(), named->second.begin(), named->second.end());
}

bool Runtime::read_node(CUgraphNode node, std::vector<CUgraph>& children, std::vector<CUdeviceptr>& named) {
  CUgraphNodeType type{};
  CUgraph child = nullptr;
  CUDA_KERNEL_NODE_PARAMS kernel{};
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS set{};
  if (call(driver_.cuGraphNodeGetType, node, &type) != CUDA_SUCCESS) return false;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
      if (call(driver_.cuGraphChildGraphNodeGetGraph, node, &child) != CUDA_SUCCESS) return false;
      children.push_back(child);
      return true;
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      if (call(driver_.cuGraphKernelNodeGetParams_v2, node, &kernel) != CUDA_SUCCESS) return false;
      auto* function = kernel.func != nullptr ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
      const cuda::FunctionInfo* info = function_info(function);
      if (info == nullptr) return false;
      const std::uint64_t blocks = std::uint64_t{kernel.gridDimX} * kernel.gridDimY * kernel.gridDimZ;
      cuda::for_each_argument_word(*info, blocks, kernel.kernelParams, kernel.extra,
                                   [&](std::uint64_t word) { named.push_back(word); });
      return true;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (call(driver_.cuGraphMemcpyNodeGetParams, node, &copy) != CUDA_SUCCESS) return false;
      named.insert(named.end(), {copy.srcDevice, copy.dstDevice});
      return true;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      if (call(driver_.cuGraphMemsetNodeGetParams, node, &set) != CUDA_SUCCESS) return false;
      named.push_back(set.dst);
      return true;
    default:
      return true;
  }
}

void Runtime::graph_destroyed(void* graph_or_exec) {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  named_by_graph_.erase(graph_or_exec);
  if (graphs_.erase(graph_or_exec) > 0) maybe_release_captured();
}

void Runtime::maybe_release_captured() {
  if (!graphs_.empty() || g_capturing.load(std::memory_order_relaxed) > 0) return;
  for (auto& memory : devices_) {
    if (memory) memory->release_captured();
  }
  for (auto& memory : managed_) {
    if (memory) memory->release_held();
  }
}

void Runtime::graph_launch_waits(Operation& operation) {
  for (auto& memory : devices_) {
    if (memory && !operation.capturing)
      operation.waited |= streams_.wait(operation.stream, memory->captured_pending());
  }
}

void Runtime::peer_enabled(CUcontext peer) {
  CUcontext current = nullptr;
  CUdevice accessing = 0;
  if (driver_.cuCtxGetDevice(&accessing) != CUDA_SUCCESS) return;
  // The current context may now reach memory of the peer's device: mappings there get access for this device.
  CUdevice owner = 0;
  if (driver_.cuCtxPushCurrent_v2(peer) != CUDA_SUCCESS) return;
  driver_.cuCtxGetDevice(&owner);
  const std::unique_lock lock(mutex_);
  if (DeviceMemory* memory = current_device(true); memory != nullptr && owner != accessing)
    memory->add_peer(accessing);
  driver_.cuCtxPopCurrent_v2(&current);
}

void Runtime::context_ended(CUcontext context) {
  const std::unique_lock lock(mutex_);
  CUcontext none = nullptr;
  bool pushed = false;
  if (driver_.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
    driver_.cuCtxSynchronize();  // nothing is unmapped under work that is still queued
    pushed = true;
  }
  streams_.forget_context(context);
  if (pages_) pages_->forget_context(context);
  if (timer_) {
    timer_->read();
    timer_->forget_context(context);
  }
  functions_.forget_all();
  bool any = false;
  for (auto& memory : devices_) {
    if (memory && memory->context() == context) memory.reset();
    any = any || memory;
  }
  for (auto& memory : managed_) {
    if (memory && memory->context() == context) memory.reset();
    any = any || memory;
  }
  if (pushed) driver_.cuCtxPopCurrent_v2(&none);
  if (any) return;
  graphs_.clear();
  named_by_graph_.clear();
  g_capturing.store(0, std::memory_order_release);
}

void Runtime::device_reset(CUdevice device) {
  CUcontext context = nullptr;
  {
    const std::unique_lock lock(mutex_);
    if (device < 0 || device >= trace::kMaxDevices) return;
    refused_[static_cast<std::size_t>(device)] = unpaged_[static_cast<std::size_t>(device)] = false;
    for (auto& memory : devices_) {
      if (memory) memory->neighbour_ended(device);
    }
    const auto index = static_cast<std::size_t>(device);
    if (!devices_[index] && !managed_[index]) return;
    context = devices_[index] ? devices_[index]->context() : managed_[index]->context();
  }
  context_ended(context);
}

bool Runtime::relieve() {
  const std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(driver_);
  DeviceMemory* memory = current_device(false);
  if (memory == nullptr) return false;
  const std::size_t released = memory->shrink(kRelief);
  if (released == 0) return false;
  count(status_.device(memory->ordinal()).driver_retries);
  return true;
}

std::size_t Runtime::idle_bytes() {
  const std::unique_lock lock(mutex_);
  if (const ManagedMemory* memory = current_managed(false)) return memory->idle_bytes();
  const DeviceMemory* memory = current_device(false);
  return memory != nullptr ? memory->idle_bytes() : 0;
}

bool Runtime::pool_statistics(CUmemoryPool pool, std::uint64_t& current, std::uint64_t& high) {
  const std::unique_lock lock(mutex_);
  for (const auto& memory : devices_) {
    CUmemoryPool own = nullptr;
    if (!memory || driver_.cuDeviceGetDefaultMemPool(&own, memory->ordinal()) != CUDA_SUCCESS || own != pool)
      continue;
    current = memory->allocated_bytes();
    high = memory->allocated_peak();
    return true;
  }
  return false;
}

bool Runtime::wait_for_program(CUresult& result) {
  std::vector<CUevent> events;
  CUcontext context = nullptr;
  bool covered = false;
  {
    const std::unique_lock lock(mutex_);
    DeviceMemory* memory = current_device(false);
    if (memory == nullptr || g_capturing.load(std::memory_order_relaxed) > 0 ||
        !memory->has_copies_in_flight())
      return false;
    driver_.cuCtxGetCurrent(&context);
    covered = streams_.record_all(context, events);
  }
  result = CUDA_SUCCESS;
  for (std::size_t i = 0; covered && i < events.size() && result == CUDA_SUCCESS; ++i)
    result = driver_.cuEventSynchronize(events[i]);
  // Default streams, and whatever else is in order with them.
  if (covered && result == CUDA_SUCCESS) result = driver_.cuStreamSynchronize(CU_STREAM_LEGACY);
  const std::unique_lock lock(mutex_);
  streams_.give_back(context, events);
  return covered;
}

}  // namespace tferry::runtime
