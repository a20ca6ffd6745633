#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/host_memory.hpp"
#include "benchmarks/experiments/kernels.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
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

// Launches an empty kernel about every 20 µs until `stop`, and times each call; `ready` after some of them,
// so that making the stream and loading the kernel are over before anything disturbs.
std::vector<double> launch_until(const std::atomic<bool>& stop, std::latch& ready) {
  const Stream stream;
  for (int i = 0; i < 200; ++i) launch_empty(stream.get());
  stream.synchronize();
  ready.count_down();
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
void map_until(const std::atomic<bool>& stop, std::latch& ready, std::vector<double>& map,
               std::vector<double>& access, std::vector<double>& unmapped) {
  ChunkPool pool(2 * kMiB, Location::kDevice);
  pool.grow();
  const ReservedRange range(2 * kMiB);
  ready.count_down();
  while (!stop) {
    map.push_back(time_us([&] { map_chunk(range.base(), pool, 0); }));
    access.push_back(time_us([&] { allow_access(range.base(), 2 * kMiB); }));
    unmapped.push_back(time_us([&] { unmap(range.base(), 2 * kMiB); }));
  }
}

// Calls that took longer than any of an undisturbed run: how many, and their time together.
json late_calls(const std::vector<double>& samples) {
  constexpr double kLateUs = 100;
  const auto count = std::count_if(samples.begin(), samples.end(), [](double us) { return us > kLateUs; });
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0, [](double total, double us) {
    return us > kLateUs ? total + us : total;
  });
  return {{"count", count}, {"together_ms", sum / 1e3}};
}

struct Disturbance {
  const Method* method;  // null: none
  std::size_t slab_bytes;
  double pause_us;  // between two slabs; without one, whoever waits for the driver's lock may never get it
  bool mapping;     // mapping calls on a further thread
};

// Latency of launches (and of mapping calls on another thread) while a helper gets host memory.
void stalls(json& found, const Disturbance& disturbance) {
  std::atomic<bool> stop{false};
  std::latch ready(disturbance.mapping ? 2 : 1);
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
        stop = true;
      }
    });
  };
  std::vector<std::jthread> threads;
  threads.push_back(guarded([&] { launches = launch_until(stop, ready); }));
  if (disturbance.mapping) threads.push_back(guarded([&] { map_until(stop, ready, map, access, unmapped); }));
  while (!ready.try_wait() && !stop) std::this_thread::yield();
  const double end = now_us() + 1.2e6;
  std::vector<double> each;
  // Released after the measurement: nothing but getting memory is to disturb the launches.
  std::vector<std::unique_ptr<HostSlab>> slabs;
  try {
    for (double next = 0; now_us() < end && !stop;) {
      if (!disturbance.method || slabs.size() * disturbance.slab_bytes >= 24 * kGiB || now_us() < next)
        continue;
      each.push_back(time_us([&] { slabs.push_back(disturbance.method->get(disturbance.slab_bytes)); }));
      next = now_us() + disturbance.pause_us;
    }
    stop = true;
    threads.clear();
  } catch (...) {
    stop = true;
    throw;
  }
  if (!failed.empty()) found["error"] = failed;
  found["slab_us"] = summarize(each);
  found["launch_us"] = summarize(launches);
  found["late_launches"] = late_calls(launches);
  if (disturbance.mapping) {
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
    report.section("stalls_none" + suffix, [&](json& found) { stalls(found, {nullptr, 0, 0, mapping}); });
    for (const auto& method : methods()) {
      for (const double pause_ms : {20.0, 0.0}) {
        report.section("stalls_" + std::string(method.name) + "_256MiB" +
                           (pause_ms > 0 ? "_pause_20ms" : "_back_to_back") + suffix,
                       [&](json& found) { stalls(found, {&method, 256 * kMiB, pause_ms * 1e3, mapping}); });
      }
    }
  }
  for (const std::size_t mib : {16, 64}) {
    report.section("stalls_register_huge_1_thread_" + std::to_string(mib) + "MiB_back_to_back",
                   [&](json& found) { stalls(found, {&methods()[2], mib * kMiB, 0, false}); });
  }
  for (const std::size_t mib : {256, 64, 1024}) {
    for (const auto& method : methods()) {
      report.section(std::string(method.name) + "_" + std::to_string(mib) + "MiB",
                     [&](json& found) { time_slabs(found, method, mib * kMiB); });
    }
  }
}

}  // namespace tferry::experiments
