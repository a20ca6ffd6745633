#pragma once

#include "cuda/driver.hpp"
#include "runtime/managed_mover.hpp"
#include "runtime/recorder.hpp"
#include "runtime/status_page.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace tferry::runtime {

/// The access pass by pages (`tferry profile --access pages`): what a kernel really touches, whether its
/// arguments name it or not. The program's memory is managed memory (managed_memory.hpp). Before a launch all
/// of it is brought to the host, so that whatever the kernel touches has to come to the device by page
/// faults, and CUPTI's records of these say where and how. The launch is then waited for: what happens
/// between `homed_to_ns` and the call's return is its own.
///
/// - Only what the last kernels touched is on the device, so homing costs as much as they touched. The rest
/// is
///   named in the same calls, because nobody knows what a kernel reached by a pointer in device memory.
/// - Nothing is copied, compared or launched twice here, and no result depends on where a page is.
///
/// This class makes launches watchable and notes which ones were; which allocation a fault belongs to is
/// found when the session is made (cli/session/page_accesses.hpp), since CUPTI hands records over much later.
///
/// Not watched, and passed on as they are: launches that are captured, collectives (whoever waits for one may
/// wait for another GPU's), launches during which another thread submits something. The pass ends, which is
/// said once, and the job goes on without it: after kMostLaunches or kMostTime, when the host has no room for
/// the contents, when the driver refuses a prefetch, or when a kernel does not end by itself (it may wait for
/// one that is launched later).
///
/// Threads: any; launches of one device are watched one after the other.
class PageProbe {
 public:
  static constexpr std::int64_t kMostLaunches = 10'000;
  static constexpr std::int64_t kMostTime = 60'000'000'000;       ///< ns of homing and of watched kernels
  static constexpr std::int64_t kLongestKernel = 20'000'000'000;  ///< ns

  using Launch = std::function<CUresult()>;
  using Alone = std::unique_lock<std::shared_timed_mutex>;

  PageProbe(const cuda::Driver& driver, Recorder& recorder, StatusPage& status)
      : driver_(driver), recorder_(recorder), status_(status) {}

  bool watching() const { return watching_.load(std::memory_order_relaxed); }
  /// The pass is over. Said once.
  void stop(int level, const char* why);

  /// Launches; where it can be watched, when it was stands in `details`. `in_use` tells the program's memory
  /// on the current device. `waited_for` is the stream by the handle under which it can be asked.
  CUresult run(int device, const std::function<std::vector<ManagedRun>()>& in_use, OperationDetails& details,
               CUstream waited_for, const Launch& launch);

  /// To be held by everything else that submits work, as long as it submits.
  std::shared_lock<std::shared_timed_mutex> beside() {
    std::shared_lock lock(gate_);
    others_.fetch_add(1, std::memory_order_relaxed);
    return lock;
  }
  void forget_context(CUcontext context);

  std::int64_t watched() const { return watched_.load(std::memory_order_relaxed); }

 private:
  /// While nobody else submits; not owned if that does not come about soon.
  Alone alone() { return Alone(gate_, std::chrono::milliseconds(100)); }
  std::uint64_t others() const { return others_.load(std::memory_order_relaxed); }
  bool home(int device, const std::vector<ManagedRun>& runs);
  bool wait(CUstream stream);
  CUstream own_stream(int device);
  void spend(std::int64_t ns);

  const cuda::Driver& driver_;
  Recorder& recorder_;
  StatusPage& status_;
  std::atomic<bool> watching_ = true;
  std::array<std::mutex, trace::kMaxDevices> devices_;        ///< who watches on each
  std::array<std::size_t, trace::kMaxDevices> most_homed_{};  ///< bytes, under the same
  std::shared_timed_mutex gate_;
  std::atomic<std::uint64_t> others_ = 0;
  std::atomic<std::int64_t> watched_ = 0;
  std::atomic<std::int64_t> spent_ns_ = 0;
  std::mutex streams_mutex_;
  std::map<CUcontext, CUstream> streams_;
};

}  // namespace tferry::runtime
