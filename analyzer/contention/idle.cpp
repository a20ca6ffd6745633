#include "analyzer/contention/idle.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

/// A part of a gap in which neither kernel, collective nor copy ran.
void split_pause(IdleTimes& times, const Interval& pause, std::optional<std::int64_t> call_ns,
                 const std::vector<Interval>& blocked) {
  if (!call_ns) {
    times.unknown += pause.end - pause.begin;
    return;
  }
  const std::int64_t called = std::clamp(*call_ns, pause.begin, pause.end);
  times.launch += pause.end - called;
  const std::int64_t waiting = overlap(blocked, pause.begin, called);
  times.blocked += waiting;
  const std::int64_t rest = called - pause.begin - waiting;
  (rest <= kLongestLaunchPause ? times.launch : times.no_work) += rest;
}

}  // namespace

IdleTimes idle_times(std::vector<KernelRun> kernels, const std::vector<Interval>& transfers,
                     const std::vector<Interval>& blocked) {
  IdleTimes times;
  std::erase_if(kernels, [](const KernelRun& run) { return run.end_ns <= run.start_ns; });
  if (kernels.empty()) return times;
  std::sort(kernels.begin(), kernels.end(),
            [](const KernelRun& a, const KernelRun& b) { return a.start_ns < b.start_ns; });
  std::vector<Interval> computing, communicating;
  for (const KernelRun& run : kernels) {
    (run.collective ? communicating : computing).push_back({run.start_ns, run.end_ns});
  }
  computing = united(std::move(computing));
  communicating = united(std::move(communicating));
  std::vector<Interval> all = computing;
  all.insert(all.end(), communicating.begin(), communicating.end());
  all = united(std::move(all));
  times.span = all.back().end - all.front().begin;
  times.busy = length(computing);
  times.collective = length(all) - times.busy;
  std::size_t next = 0;
  for (std::size_t k = 0; k + 1 < all.size(); ++k) {
    const Interval gap{all[k].end, all[k + 1].begin};
    times.transfer += overlap(transfers, gap.begin, gap.end);
    while (next < kernels.size() && kernels[next].start_ns < gap.end) ++next;
    const std::optional<std::int64_t> call = next < kernels.size() ? kernels[next].call_ns : std::nullopt;
    for (const Interval& pause : without(transfers, gap.begin, gap.end)) {
      split_pause(times, pause, call, blocked);
    }
  }
  return times;
}

}  // namespace tferry::analyzer
