// Managed memory, and what mapping calls cost.
#include "collector/calibrate/experiments.hpp"
#include "collector/calibrate/read_kernel.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace tferry::calibrate {
namespace {

using trace::CalibratedFigure;

constexpr int kMappingCycles = 8;

std::string gpu_text(const Gpu& gpu) { return "GPU " + std::to_string(gpu.ordinal()); }

class ManagedMemory {
 public:
  ManagedMemory(const Bench& bench, std::size_t index, std::int64_t bytes)
      : bench_(bench),
        gpu_(bench.gpu(index)),
        stream_(bench.link(index).in.get()),
        memory_(gpu_, Memory::Kind::kManaged, bytes) {}

  const Memory& memory() const { return memory_; }

  /// Moves all of it by pieces; seconds until the calls were back, and until all was there.
  std::pair<double, double> move(bool to_device, std::int64_t piece) const {
    gpu_.make_current();
    CUmemLocation place{};
    place.type = to_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
    place.id = to_device ? gpu_.ordinal() : 0;
    const std::int64_t before = bench_.now_ns();
    for (std::int64_t at = 0; at < memory_.bytes(); at += piece) {
      const auto size = static_cast<std::size_t>(std::min(piece, memory_.bytes() - at));
      const cuda::Driver& driver = gpu_.driver();
      TFERRY_DRIVER(driver, cuMemPrefetchAsync_v2, memory_.device(at), size, place, 0U, stream_);
    }
    const std::int64_t called = bench_.now_ns();
    gpu_.synchronise();
    return {static_cast<double>(called - before) * 1e-9,
            static_cast<double>(bench_.now_ns() - before) * 1e-9};
  }

 private:
  const Bench& bench_;
  const Gpu& gpu_;
  CUstream stream_;
  Memory memory_;
};

void measure_prefetch(Bench& bench, const Gpu& gpu, const ManagedMemory& managed, std::int64_t piece) {
  std::map<bool, std::vector<double>> rates, shares;
  managed.move(false, managed.memory().bytes());
  for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
    bench.check_time();
    for (const bool to_device : {true, false}) {
      const auto [called, all] = managed.move(to_device, piece);
      if (all <= 0) continue;
      rates[to_device].push_back(static_cast<double>(managed.memory().bytes()) / all);
      shares[to_device].push_back(called / all);
    }
  }
  for (const bool to_device : {true, false}) {
    CalibratedFigure figure{.what = "prefetch",
                            .gpus = {gpu.ordinal()},
                            .gpu = gpu.ordinal(),
                            .direction = to_device ? "h2d" : "d2h",
                            .memory = "managed",
                            .bytes = piece,
                            .unit = "bytes/s"};
    bench.add(figure, rates[to_device]);
    figure.what = "prefetch_call";
    figure.unit = "share";
    bench.add(figure, shares[to_device]);
  }
}

void measure_faults(Bench& bench, std::size_t index, const ManagedMemory& managed) {
  const Gpu& gpu = bench.gpu(index);
  const CUstream stream = bench.link(index).in.get();
  const ReadKernel kernel(gpu);
  const Event before(gpu), after(gpu);
  std::vector<double> values;
  for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
    bench.check_time();
    managed.move(false, managed.memory().bytes());
    before.record(stream);
    kernel.launch(managed.memory().device(), managed.memory().bytes(), stream);
    after.record(stream);
    gpu.synchronise();
    values.push_back(static_cast<double>(managed.memory().bytes()) / after.since(before));
  }
  bench.add({.what = "fault",
             .gpus = {gpu.ordinal()},
             .gpu = gpu.ordinal(),
             .direction = "h2d",
             .memory = "managed",
             .bytes = managed.memory().bytes(),
             .unit = "bytes/s"},
            values);
}

/// A physical handle, and an address range for it.
class Chunk {
 public:
  Chunk(const Bench& bench, const Gpu& gpu, bool on_host, std::int64_t bytes)
      : bench_(bench), gpu_(gpu), size_(static_cast<std::size_t>(bytes)) {
    CUmemAllocationProp kind{};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = on_host ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id =
        on_host ? std::max(0, gpu.attribute(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0)) : gpu.ordinal();
    const cuda::Driver& driver = gpu.driver();
    TFERRY_DRIVER(driver, cuMemAddressReserve, &address_, size_, std::size_t{0}, CUdeviceptr{0}, 0ULL);
    const std::int64_t before = bench.now_ns();
    TFERRY_DRIVER(driver, cuMemCreate, &handle_, size_, &kind, 0ULL);
    create_ns_ = static_cast<double>(bench.now_ns() - before);
  }
  ~Chunk() {
    const cuda::Driver& driver = gpu_.driver();
    if (mapped_) driver.cuMemUnmap(address_, size_);
    driver.cuMemRelease(handle_);
    driver.cuMemAddressFree(address_, size_);
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  double create_ns() const { return create_ns_; }
  double map() {
    return timed([&] {
      const cuda::Driver& driver = gpu_.driver();
      TFERRY_DRIVER(driver, cuMemMap, address_, size_, std::size_t{0}, handle_, 0ULL);
      mapped_ = true;
    });
  }
  double set_access() {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = gpu_.ordinal();
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return timed([&] {
      const cuda::Driver& driver = gpu_.driver();
      TFERRY_DRIVER(driver, cuMemSetAccess, address_, size_, &access, std::size_t{1});
    });
  }
  double unmap() {
    return timed([&] {
      const cuda::Driver& driver = gpu_.driver();
      TFERRY_DRIVER(driver, cuMemUnmap, address_, size_);
      mapped_ = false;
    });
  }

 private:
  template <typename Body>
  double timed(Body body) {
    const std::int64_t before = bench_.now_ns();
    body();
    return static_cast<double>(bench_.now_ns() - before);
  }

  const Bench& bench_;
  const Gpu& gpu_;
  std::size_t size_;
  CUdeviceptr address_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
  double create_ns_ = 0;
  bool mapped_ = false;
};

/// Submits copies in the given ways; done() tells when one way's have ended.
class Background {
 public:
  Background(const Bench& bench, std::size_t index, const std::string& ways) : gpu_(bench.gpu(index)) {
    for (const Direction way : {Direction::kToDevice, Direction::kToHost}) {
      if (ways != "both" && ways != name_of(way)) continue;
      const Lane lane =
          bench.copies(index, way, bench.settings().piece_bytes, bench.settings().run_bytes * 2);
      gpu_.make_current();
      for (int piece = 0; piece < lane.pieces; ++piece) lane.submit(piece, lane.streams.front());
      ends_.push_back(std::make_unique<Event>(gpu_));
      ends_.back()->record(lane.streams.front());
    }
  }
  bool done() const {
    return std::any_of(ends_.begin(), ends_.end(), [this](const auto& end) {
      return gpu_.driver().cuEventQuery(end->get()) != CUDA_ERROR_NOT_READY;
    });
  }

 private:
  const Gpu& gpu_;
  std::vector<std::unique_ptr<Event>> ends_;
};

using Costs = std::map<std::string, std::vector<double>>;

void add_costs(Bench& bench, const Gpu& gpu, const Costs& costs, const std::string& beside) {
  for (const auto& [what, values] : costs) {
    bench.add({.what = what,
               .gpus = {gpu.ordinal()},
               .gpu = gpu.ordinal(),
               .beside = beside,
               .bytes = bench.settings().handle_bytes,
               .unit = "ns"},
              values);
  }
}

}  // namespace

void measure_managed(Bench& bench) {
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    const Gpu& gpu = bench.gpu(index);
    if (gpu.attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0) == 0) {
      bench.miss("managed memory of " + gpu_text(gpu) + ": it cannot be moved page by page here");
      continue;
    }
    const std::int64_t most = std::min(bench.settings().run_bytes, gpu.free_bytes() / 8);
    const ManagedMemory managed(bench, index, most / (1 << 20) * (1 << 20));
    for (const std::int64_t piece : {2LL << 20, 16LL << 20, 64LL << 20, 512LL << 20}) {
      if (piece <= managed.memory().bytes()) measure_prefetch(bench, gpu, managed, piece);
    }
    measure_faults(bench, index, managed);
  }
}

void measure_mapping(Bench& bench) {
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    const Gpu& gpu = bench.gpu(index);
    gpu.make_current();
    Chunk on_device(bench, gpu, false, bench.settings().handle_bytes);
    Chunk on_host(bench, gpu, true, bench.settings().handle_bytes);
    add_costs(bench, gpu,
              {{"create_device", {on_device.create_ns()}}, {"create_host", {on_host.create_ns()}}}, "");
    for (const char* beside : {"", "h2d", "d2h", "both"}) {
      bench.check_time();
      Costs costs;
      const Background copies(bench, index, beside);
      for (int cycle = 0; cycle < kMappingCycles; ++cycle) {
        if (*beside != '\0' && copies.done()) break;
        costs["map"].push_back(on_device.map());
        costs["set_access"].push_back(on_device.set_access());
        costs["unmap"].push_back(on_device.unmap());
        const double map_host = on_host.map();
        costs["map_host"].push_back(map_host + on_host.set_access());
        costs["unmap_host"].push_back(on_host.unmap());
      }
      gpu.synchronise();
      add_costs(bench, gpu, costs, beside);
    }
  }
}

}  // namespace tferry::calibrate
