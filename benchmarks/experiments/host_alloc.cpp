#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/host_memory.hpp"
#include "benchmarks/experiments/kernels.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

struct Method {
  const char* name;
  std::function<std::unique_ptr<HostSlab>(std::size_t)> get;
};

const std::vector<Method>& methods() {
  static const std::vector<Method> all = {
      {"cuMemHostAlloc", [](std::size_t bytes) { return HostSlab::from_driver(bytes); }},
      {"register_4k_1_thread", [](std::size_t bytes) { return HostSlab::registered(bytes, false, 1); }},
      {"register_huge_1_thread", [](std::size_t bytes) { return HostSlab::registered(bytes, true, 1); }},
      {"register_huge_4_threads", [](std::size_t bytes) { return HostSlab::registered(bytes, true, 4); }}};
  return all;
}

void time_slabs(json& found, const Method& method, std::size_t slab_bytes) {
  constexpr std::size_t kTotal = 8 * kGiB;
  std::vector<std::unique_ptr<HostSlab>> slabs;
  SlabTimes sum;
  std::vector<double> each;
  const double all = time_us([&] {
    for (std::size_t got = 0; got < kTotal; got += slab_bytes) {
      each.push_back(time_us([&] { slabs.push_back(method.get(slab_bytes)); }));
      sum.map_us += slabs.back()->times().map_us;
      sum.prefault_us += slabs.back()->times().prefault_us;
      sum.pin_us += slabs.back()->times().pin_us;
    }
  });
  found["total_ms"] = all / 1e3;
  found["gib_per_s"] = 8.0 / (all / 1e6);
  found["map_ms"] = sum.map_us / 1e3;
  found["prefault_ms"] = sum.prefault_us / 1e3;
  found["pin_ms"] = sum.pin_us / 1e3;
  found["slab_us"] = summarize(each);
  found["release_ms"] = time_us([&] { slabs.clear(); }) / 1e3;
}

// Launches an empty kernel about every 20 µs until `stop`, and times each call.
std::vector<double> launch_until(const std::atomic<bool>& stop) {
  const Stream stream;
  std::vector<double> samples;
  for (int i = 0; !stop; ++i) {
    samples.push_back(time_us([&] { launch_empty(stream.get()); }));
    if (i % 256 == 255) stream.synchronize();
    const double until = now_us() + 20;
    while (now_us() < until && !stop) {
    }
  }
  stream.synchronize();
  return samples;
}

// Maps and unmaps one chunk of 2 MiB over and over until `stop`.
void map_until(const std::atomic<bool>& stop, std::vector<double>& map, std::vector<double>& access,
               std::vector<double>& unmapped) {
  ChunkPool pool(2 * kMiB, Location::kDevice);
  pool.grow();
  const ReservedRange range(2 * kMiB);
  while (!stop) {
    map.push_back(time_us([&] { map_chunk(range.base(), pool, 0); }));
    access.push_back(time_us([&] { allow_access(range.base(), 2 * kMiB); }));
    unmapped.push_back(time_us([&] { unmap(range.base(), 2 * kMiB); }));
  }
}

// Latency of launches (and, with `mapping`, of mapping calls on another thread) while a helper gets host
// memory.
void stalls(json& found, const Method* method, std::size_t slab_bytes, bool mapping) {
  std::atomic<bool> stop{false};
  std::vector<double> launches;
  std::vector<double> map;
  std::vector<double> access;
  std::vector<double> unmapped;
  std::string failed;
  std::mutex failed_mutex;
  const auto guarded = [&](auto body) {
    return std::jthread([&, body] {
      try {
        use_device();
        body();
      } catch (const std::exception& error) {
        const std::lock_guard lock(failed_mutex);
        failed = error.what();
      }
    });
  };
  std::vector<std::jthread> threads;
  threads.push_back(guarded([&] { launches = launch_until(stop); }));
  if (mapping) threads.push_back(guarded([&] { map_until(stop, map, access, unmapped); }));
  const double end = now_us() + 1.2e6;
  std::size_t slabs_got = 0;
  // Released after the measurement: nothing but getting memory is to disturb the launches.
  std::vector<std::unique_ptr<HostSlab>> slabs;
  try {
    while (now_us() < end) {
      if (!method || slabs.size() * slab_bytes >= 24 * kGiB) continue;
      slabs.push_back(method->get(slab_bytes));
      ++slabs_got;
    }
    stop = true;
    threads.clear();
  } catch (...) {
    stop = true;
    throw;
  }
  if (!failed.empty()) found["error"] = failed;
  found["slabs"] = slabs_got;
  found["launch_us"] = summarize(launches);
  if (mapping) {
    found["map_us"] = summarize(map);
    found["access_us"] = summarize(access);
    found["unmap_us"] = summarize(unmapped);
  }
}

}  // namespace

void run_host_alloc(Report& report) {
  report.section("warm_up", [](json& found) {
    const Stream stream;
    launch_empty(stream.get());
    stream.synchronize();
    found["host_alloc_256MiB_ms"] = time_us([] { HostSlab::from_driver(256 * kMiB); }) / 1e3;
  });
  for (const bool mapping : {false, true}) {
    const std::string suffix = mapping ? "_mapping_too" : "";
    report.section("stalls_none" + suffix, [&](json& found) { stalls(found, nullptr, 0, mapping); });
    for (const auto& method : methods()) {
      report.section("stalls_" + std::string(method.name) + "_256MiB" + suffix,
                     [&](json& found) { stalls(found, &method, 256 * kMiB, mapping); });
    }
  }
  report.section("stalls_register_huge_1_thread_16MiB",
                 [&](json& found) { stalls(found, &methods()[2], 16 * kMiB, false); });
  for (const std::size_t mib : {256, 64, 1024}) {
    for (const auto& method : methods()) {
      report.section(std::string(method.name) + "_" + std::to_string(mib) + "MiB",
                     [&](json& found) { time_slabs(found, method, mib * kMiB); });
    }
  }
}

}  // namespace tferry::experiments
