#pragma once

#include "analyzer/contention/intervals.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::analyzer {

/// A kernel as one GPU ran it.
struct KernelRun {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> call_ns;  ///< when its launch was called; empty: not recorded
  bool collective = false;              ///< of a communication library: waits for other ranks inside
};

/// Why a GPU computed nothing, from its first kernel to the end of its last, in ns. Every moment counts once.
struct IdleTimes {
  std::int64_t span = 0;
  std::int64_t busy = 0;        ///< a kernel ran that is no collective
  std::int64_t collective = 0;  ///< only a collective ran
  std::int64_t transfer = 0;    ///< a copy of this GPU ran, no kernel
  std::int64_t blocked = 0;  ///< the next kernel had not been launched: the program was in a call that waits
  std::int64_t launch = 0;  ///< the next kernel was being launched: short pauses between calls, and their way
  std::int64_t no_work = 0;  ///< nothing was launched for long: the program did something else
  std::int64_t unknown = 0;  ///< the next kernel's launch was not recorded
};

/// Beyond this a pause before a launch is no matter of launching.
inline constexpr std::int64_t kLongestLaunchPause = 100'000;

/// `transfers`: when copies of this GPU ran; `blocked`: when a thread of the program waited in a
/// synchronisation; both disjoint and in order. Pure.
IdleTimes idle_times(std::vector<KernelRun> kernels, const std::vector<Interval>& transfers,
                     const std::vector<Interval>& blocked);

}  // namespace tferry::analyzer
