#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/copy_pump.hpp"
#include "benchmarks/experiments/experiments.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

// Samples in tenths of the whole, so that growth with the number of mapped handles shows.
json by_tenths(const std::vector<double>& samples) {
  json tenths = json::array();
  for (std::size_t tenth = 0; tenth < 10 && samples.size() >= 10; ++tenth) {
    const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * tenth / 10);
    const auto end = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * (tenth + 1) / 10);
    tenths.push_back(summarize({begin, end})["p50"]);
  }
  json result = summarize(samples);
  result["p50_by_tenth"] = tenths;
  return result;
}

// The cycle map, allow, unmap over `batch` handles of `pool`, with one access call each or one for the range.
json mapping_cycles(const ChunkPool& pool, CUdeviceptr address, std::size_t batch, int cycles) {
  std::vector<double> map;
  std::vector<double> access;
  std::vector<double> unmapped;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    map.push_back(time_us([&] {
      for (std::size_t i = 0; i < batch; ++i) map_chunk(address + i * pool.chunk_bytes(), pool, i);
    }));
    access.push_back(time_us([&] { allow_access(address, batch * pool.chunk_bytes()); }));
    unmapped.push_back(time_us([&] { unmap(address, batch * pool.chunk_bytes()); }));
  }
  return {{"map_us", summarize(map)}, {"access_us", summarize(access)}, {"unmap_us", summarize(unmapped)}};
}

// A copy that waits for an event which comes only after the measurement: an engine with work that cannot run
// yet.
class HeldBackStream {
 public:
  HeldBackStream() {
    void* word = nullptr;
    CUdeviceptr on_device = 0;
    TFERRY_CU(cuMemHostAlloc(&word, 4, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    word_ = static_cast<volatile std::uint32_t*>(word);
    *word_ = 0;
    TFERRY_CU(cuMemHostGetDevicePointer(&on_device, word, 0));
    TFERRY_CU(cuStreamWaitValue32(gate_.get(), on_device, 1, CU_STREAM_WAIT_VALUE_GEQ));
    event_.record(gate_);
    TFERRY_CU(cuStreamWaitEvent(copies_.get(), event_.get(), 0));
    TFERRY_CU(cuMemcpyDtoHAsync(buffers_.host(), buffers_.device(), 16 * kMiB, copies_.get()));
  }
  ~HeldBackStream() {
    *word_ = 1;
    cuStreamSynchronize(copies_.get());
  }
  HeldBackStream(const HeldBackStream&) = delete;
  HeldBackStream& operator=(const HeldBackStream&) = delete;

 private:
  PumpBuffers buffers_;
  volatile std::uint32_t* word_ = nullptr;
  Stream gate_;
  Stream copies_;
  Event event_;
};

struct Load {
  const char* name;
  std::size_t out_piece;
  std::size_t in_piece;
  bool held_back;
};

json under_load(const ChunkPool& pool, CUdeviceptr address, const Load& load) {
  std::optional<CopyPump> out;
  std::optional<CopyPump> in;
  std::unique_ptr<HeldBackStream> waiting;
  if (load.out_piece) out.emplace(Direction::kDeviceToHost, load.out_piece);
  if (load.in_piece) in.emplace(Direction::kHostToDevice, load.in_piece);
  if (load.held_back) waiting = std::make_unique<HeldBackStream>();
  const double warm_until = now_us() + 20e3;
  while (now_us() < warm_until) {
  }
  json found;
  const std::size_t out_before = out ? out->bytes() : 0;
  const std::size_t in_before = in ? in->bytes() : 0;
  const double start = now_us();
  found["handles_1"] = mapping_cycles(pool, address, 1, 40);
  for (const std::size_t batch : {4, 12, 32}) {
    found["range_of_" + std::to_string(batch)] = mapping_cycles(pool, address, batch, batch == 32 ? 4 : 8);
  }
  const double us = now_us() - start;
  if (out) found["d2h_gbps"] = static_cast<double>(out->bytes() - out_before) / us / 1e3;
  if (in) found["h2d_gbps"] = static_cast<double>(in->bytes() - in_before) / us / 1e3;
  return found;
}

const std::vector<Load> kMovingLoads = {{"idle", 0, 0, false},
                                        {"d2h_16MiB", 16 * kMiB, 0, false},
                                        {"d2h_2MiB", 2 * kMiB, 0, false},
                                        {"h2d_16MiB", 0, 16 * kMiB, false},
                                        {"both_16MiB", 16 * kMiB, 16 * kMiB, false}};
const std::vector<Load> kHeldBackLoad = {{"d2h_waiting_for_event", 0, 0, true}};

json all_loads(std::size_t chunk_bytes, const std::vector<Load>& loads) {
  ChunkPool pool(chunk_bytes, Location::kDevice);
  for (int i = 0; i < 32; ++i) pool.grow();
  const ReservedRange range(32 * chunk_bytes);
  json found;
  for (const auto& load : loads) {
    try {
      found[load.name] = under_load(pool, range.base(), load);
    } catch (const std::exception& error) {
      found[load.name]["error"] = error.what();
    }
  }
  return found;
}

// Every handle that fits, up to `wanted`: what each call costs as their number grows, and what the page
// tables take.
void populate(json& found, std::size_t chunk_bytes, std::size_t wanted) {
  const std::size_t spare = 3 * kGiB + 32 * chunk_bytes;
  const std::size_t free_at_start = free_device_bytes();
  const std::size_t count =
      std::min(wanted, free_at_start > spare ? (free_at_start - spare) / chunk_bytes : 0);
  found["handles"] = count;
  const std::size_t bytes = count * chunk_bytes;
  ChunkPool pool(chunk_bytes, Location::kDevice);
  std::vector<double> create;
  for (std::size_t i = 0; i < count; ++i) create.push_back(time_us([&] { pool.grow(); }));
  found["create_us"] = by_tenths(create);
  const std::size_t free_created = free_device_bytes();
  found["bytes_beyond_handles_after_create"] =
      static_cast<std::int64_t>(free_at_start - free_created) - static_cast<std::int64_t>(bytes);

  const ReservedRange range(bytes);
  std::vector<double> map;
  for (std::size_t i = 0; i < count; ++i) {
    map.push_back(time_us([&] { map_chunk(range.base() + i * chunk_bytes, pool, i); }));
  }
  found["map_us"] = by_tenths(map);
  found["bytes_taken_by_map"] = free_created - free_device_bytes();

  std::vector<double> single;
  const std::size_t half = count / 2;
  for (std::size_t i = 0; i < half; ++i) {
    single.push_back(time_us([&] { allow_access(range.base() + i * chunk_bytes, chunk_bytes); }));
  }
  found["access_single_us"] = by_tenths(single);
  json ranges = json::object();
  std::size_t next = half;
  for (const std::size_t batch : {4, 16, 64, 256, 1024}) {
    if (next + batch > count) break;
    ranges[std::to_string(batch)] =
        time_us([&] { allow_access(range.base() + next * chunk_bytes, batch * chunk_bytes); }) /
        static_cast<double>(batch);
    next += batch;
  }
  if (next < count) {
    ranges["rest_" + std::to_string(count - next)] =
        time_us([&] { allow_access(range.base() + next * chunk_bytes, (count - next) * chunk_bytes); }) /
        static_cast<double>(count - next);
  }
  found["access_in_ranges_us_per_handle"] = ranges;
  const std::size_t free_mapped = free_device_bytes();
  found["page_table_bytes"] = free_created - free_mapped;

  {
    const ReservedRange alias(bytes);
    std::vector<double> alias_map;
    for (std::size_t i = 0; i < count; ++i) {
      alias_map.push_back(time_us([&] { map_chunk(alias.base() + i * chunk_bytes, pool, i); }));
    }
    found["alias_map_us"] = by_tenths(alias_map);
    found["alias_access_one_call_us_per_handle"] =
        time_us([&] { allow_access(alias.base(), bytes); }) / static_cast<double>(count);
    found["alias_page_table_bytes"] = free_mapped - free_device_bytes();
    std::vector<double> alias_unmap;
    for (std::size_t i = 0; i < count; ++i) {
      alias_unmap.push_back(time_us([&] { unmap(alias.base() + i * chunk_bytes, chunk_bytes); }));
    }
    found["unmap_single_us"] = by_tenths(alias_unmap);
  }
  found["with_all_mapped"] = all_loads(chunk_bytes, kMovingLoads);
  found["unmap_one_call_us_per_handle"] =
      time_us([&] { unmap(range.base(), bytes); }) / static_cast<double>(count);
  found["page_table_bytes_kept_after_unmap"] =
      static_cast<std::int64_t>(free_created) - static_cast<std::int64_t>(free_device_bytes());
}

void reservations(json& found) {
  const auto properties = chunk_properties(Location::kDevice);
  std::size_t granularity = 0;
  TFERRY_CU(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  found["granularity_minimum"] = granularity;
  TFERRY_CU(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  found["granularity_recommended"] = granularity;
  for (const std::size_t tib : {1, 16, 64, 120}) {
    json& entry = found[std::to_string(tib) + "_TiB"];
    CUdeviceptr base = 0;
    CUresult result = CUDA_SUCCESS;
    entry["reserve_us"] = time_us([&] { result = cuMemAddressReserve(&base, tib * kTiB, 0, 0, 0); });
    entry["result"] = static_cast<int>(result);
    if (result != CUDA_SUCCESS) continue;
    entry["base"] = base;
    ChunkPool pool(2 * kMiB, Location::kDevice);
    pool.grow();
    const std::size_t free_before = free_device_bytes();
    for (const std::size_t at : {std::size_t{0}, tib * kTiB / 2, tib * kTiB - 2 * kMiB}) {
      entry["map_access_unmap_us"].push_back(time_us([&] {
        map_chunk(base + at, pool, 0);
        allow_access(base + at, 2 * kMiB);
        unmap(base + at, 2 * kMiB);
      }));
    }
    entry["page_table_bytes"] =
        static_cast<std::int64_t>(free_before) - static_cast<std::int64_t>(free_device_bytes());
    entry["free_us"] = time_us([&] { TFERRY_CU(cuMemAddressFree(base, tib * kTiB)); });
  }
}

}  // namespace

void run_set_access(Report& report) {
  report.section("reservations", reservations);
  for (const std::size_t mib : {2, 8, 32}) {
    const std::string size = std::to_string(mib) + "_MiB";
    report.section("few_mapped_" + size, [&](json& found) { found = all_loads(mib * kMiB, kMovingLoads); });
    report.section("many_mapped_" + size,
                   [&](json& found) { populate(found, mib * kMiB, mib == 32 ? 4000 : 10000); });
  }
  // Last, because a driver that waits for the held-back stream in a mapping call would end the experiment
  // here.
  for (const std::size_t mib : {2, 32}) {
    report.section("engine_waiting_" + std::to_string(mib) + "_MiB",
                   [&](json& found) { found = all_loads(mib * kMiB, kHeldBackLoad); });
  }
}

}  // namespace tferry::experiments
