#include "runtime/page_probe.hpp"

#include "runtime/capture_guard.hpp"
#include "runtime/host_pool.hpp"

#include <thread>

namespace tferry::runtime {

void PageProbe::stop(int level, const char* why) {
  if (!watching_.exchange(false)) return;
  status_.say(level, "access pages: %s; %lld launches were watched, and the job runs on without the pass",
              why, static_cast<long long>(watched()));
}

CUresult PageProbe::run(int device, const std::function<std::vector<ManagedRun>()>& in_use,
                        OperationDetails& details, CUstream waited_for, const Launch& launch) {
  const auto unwatched = [&] {
    const auto hold = beside();
    return launch();
  };
  if (!watching()) return launch();
  if (device < 0 || device >= trace::kMaxDevices) return unwatched();
  const std::lock_guard lock(devices_[static_cast<std::size_t>(device)]);
  const std::vector<ManagedRun> runs = in_use();
  if (runs.empty()) return unwatched();
  std::optional<std::uint64_t> seen;
  if (const Alone now = alone()) seen = others();
  if (!seen) return unwatched();
  const std::int64_t from = StatusPage::now_ns();
  if (!home(device, runs)) return unwatched();
  const std::int64_t homed = StatusPage::now_ns();
  const CUresult result = launch();
  if (result != CUDA_SUCCESS) return result;
  const bool ended = wait(waited_for);
  const std::int64_t now = StatusPage::now_ns();
  if (ended && others() == *seen) {
    details.homed_from_ns = from;
    details.homed_to_ns = homed;
    for (const ManagedRun& run : runs) details.homed_bytes += static_cast<std::int64_t>(run.bytes);
    watched_.fetch_add(1, std::memory_order_relaxed);
  }
  spend(now - from);
  return result;
}

void PageProbe::spend(std::int64_t ns) {
  const std::int64_t spent = spent_ns_.fetch_add(ns, std::memory_order_relaxed) + ns;
  if (watched() >= kMostLaunches) stop(1, "that is enough of them");
  if (spent >= kMostTime) stop(1, "a minute was spent on them");
}

bool PageProbe::home(int device, const std::vector<ManagedRun>& runs) {
  const RelaxedCapture relaxed(driver_);
  std::size_t bytes = 0;
  for (const ManagedRun& run : runs) bytes += run.bytes;
  std::size_t& most = most_homed_[static_cast<std::size_t>(device)];
  // What was homed once has its pages on the host; more of them may be made.
  if (bytes > most && bytes - most > available_host_memory() / 2) {
    stop(0, "the host has no room for the contents of the GPU's memory");
    return false;
  }
  if (bytes > most) most = bytes;
  const CUstream stream = own_stream(device);
  if (stream == nullptr || driver_.cuCtxSynchronize() != CUDA_SUCCESS) {
    stop(0, "the driver does not answer");
    return false;
  }
  const CUmemLocation host{.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
  bool moved = true;
  for (const ManagedRun& run : runs) {
    moved = moved && driver_.cuMemPrefetchAsync_v2(run.address, run.bytes, host, 0, stream) == CUDA_SUCCESS;
  }
  moved = driver_.cuStreamSynchronize(stream) == CUDA_SUCCESS && moved;
  if (!moved) stop(0, "the driver refuses to bring memory to the host");
  return moved;
}

/// Asks instead of waiting: a kernel that waits for what the program does later must not wait for ever.
bool PageProbe::wait(CUstream stream) {
  const RelaxedCapture relaxed(driver_);
  const std::int64_t begin = StatusPage::now_ns();
  std::int64_t waited = 0;
  while (true) {
    const CUresult state = driver_.cuStreamQuery(stream);
    if (state == CUDA_SUCCESS) return true;
    if (state != CUDA_ERROR_NOT_READY) return false;  // the program is told at its next call
    waited = StatusPage::now_ns() - begin;
    if (waited > kLongestKernel) break;
    if (waited > 200'000) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  stop(0, "a kernel does not end while nothing else is launched");
  return false;
}

CUstream PageProbe::own_stream(int device) {
  CUcontext context = nullptr;
  if (driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
  const std::lock_guard lock(streams_mutex_);
  CUstream& stream = streams_[context];
  if (stream == nullptr && driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS)
    recorder_.own_stream(stream, device);
  return stream;
}

void PageProbe::forget_context(CUcontext context) {
  const std::lock_guard lock(streams_mutex_);
  streams_.erase(context);
}

}  // namespace tferry::runtime
