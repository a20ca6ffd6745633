#pragma once

#include "analyzer/simulator/simulator.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// What has to be over before something may begin: an operation, or a transfer out, of the iteration that is
/// `shift` after that of whoever waits.
struct Predecessor {
  enum class Kind : std::uint8_t { kOperation, kLeave };
  Kind kind = Kind::kOperation;
  std::uint32_t index = 0;
  std::int32_t shift = 0;
  bool operator==(const Predecessor&) const = default;
};

/// One copy to host memory.
struct LeaveTransfer {
  std::uint32_t after = 0;  ///< operation
  std::int64_t bytes = 0;
};

/// One copy to the card. It belongs to the iteration in which its bytes left; operations count on into the
/// next one.
struct ReturnTransfer {
  std::uint32_t earliest = 0;  ///< operation before which, in program order, its chunks are free
  std::uint32_t needed = 0;    ///< operation that cannot begin without it
  std::int64_t bytes = 0;
  std::vector<Predecessor> after;  ///< users of its chunks, and its own way out
};

/// An operation that is first to use memory which others had before.
struct FirstUse {
  std::uint32_t operation = 0;
  std::vector<Predecessor> after;
};

/// When a return is submitted: its number, before operation `position`, `shift` iterations after that in
/// which its bytes left.
struct Submission {
  std::uint32_t position = 0;
  std::uint32_t transfer = 0;
  std::int32_t shift = 0;
};

/// Everything that one iteration of a placed plan does, as the runtime submits it: one queue of operations,
/// one of copies out in the order of `leaves`, one of copies in in the order of `submissions`.
struct Schedule {
  std::vector<LeaveTransfer> leaves;
  std::vector<ReturnTransfer> returns;
  std::vector<FirstUse> first_uses;
  std::vector<Submission> submissions;  ///< by position; every return once
};

struct QueueSimulation {
  double time_ns = 0;             ///< of an iteration
  std::vector<double> starts_ns;  ///< of each operation of the last iteration, from its first one's
  std::vector<double> ends_ns;
  std::vector<double> stalls_ns;   ///< of each operation of the last iteration, before it began
  std::uint64_t late_returns = 0;  ///< of the last iteration: transfers that an operation waited for
};

/// Runs the three queues against each other: each does one thing at a time in its order, begins it when what
/// it waits for is over, and the link slows down while both directions are busy. The launching thread is
/// taken to be ahead of all of them. Pure; any thread.
QueueSimulation simulate_queues(const Workload& workload, const Schedule& schedule,
                                const SimulationOptions& options);

/// The order of submissions by which each copy in is the one needed first among those whose memory is free by
/// then, found by simulating that rule. Positions are as early as that order allows. `schedule.submissions`
/// is not looked at.
std::vector<Submission> order_returns(const Workload& workload, const Schedule& schedule,
                                      const SimulationOptions& options);

}  // namespace tferry::analyzer
