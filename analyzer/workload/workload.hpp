#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// What an operation does to a tensor.
enum class AccessKind : std::uint8_t {
  kRead,       ///< needs the contents, leaves them as they are
  kUpdate,     ///< needs the contents and changes them, or changes only a part of them
  kOverwrite,  ///< replaces all contents without looking at them
  kMayTouch    ///< unknown; counts as kUpdate
};

struct Access {
  std::uint32_t tensor = 0;  ///< index into Workload::tensors
  AccessKind kind = AccessKind::kMayTouch;
  bool operator==(const Access&) const = default;
};

/// One kernel, copy or memset of an iteration, with the whole tensors that it touches.
struct Operation {
  std::string name;
  std::int64_t duration_ns =
      0;  ///< on the GPU, all tensors resident; the smallest over the recorded iterations
  /// For how long the GPU idles before it though everything is there: launch gaps, waits of the program. Part
  /// of an iteration's time, not of the bound.
  std::int64_t gap_ns = 0;
  std::vector<Access> accesses;
  bool operator==(const Operation&) const = default;
};

struct Tensor {
  std::string name;
  std::int64_t size = 0;  ///< bytes, as the budget counts them
  /// Persistent tensors (weights, optimiser state) keep memory and contents from one iteration to the next.
  /// Others are allocated before operation `birth`, without contents, and freed after operation `death`;
  /// death before birth means that the life reaches into the next iteration.
  bool persistent = true;
  std::uint32_t birth = 0;
  std::uint32_t death = 0;
  /// Not persistent, and to be kept until it dies though no operation is known to read it any more: after its
  /// last use it holds memory until its death, and leaves the card only by a copy.
  bool kept = false;
  bool operator==(const Tensor&) const = default;
};

/// Rates of the link between a GPU and host memory in bytes per nanosecond (GB/s): alone in one direction,
/// and in each direction while both are busy. Rates that can be had together are those below the lines from
/// (out, 0) and (0, in) through the duplex corner. Where copies go by several links, the rates of all of them
/// together: what bounds a plan. A single copy may get less of it, which simulations count.
struct LinkRates {
  double in = 55.1;  ///< to the GPU
  double out = 55.3;
  double duplex_in = 46;
  double duplex_out = 46;
  double reached = 1;  ///< share of these rates that a copy gets by the way it is made
  double copy_ns = 0;  ///< what a copy takes beside its bytes, for the same reason
  bool operator==(const LinkRates&) const = default;

  /// Share of the outward rate that a unit of inward rate costs, and the reverse.
  double alpha() const { return (out - duplex_out) / duplex_in; }
  double beta() const { return (in - duplex_in) / duplex_out; }
  /// The least time, in nanoseconds, in which these bytes can cross.
  double time_for(double bytes_in, double bytes_out) const;
};

/// One iteration of one rank, repeated for ever: operations in the order in which the GPU executes them, one
/// after the other, and the memory they need. What analysis, bound, simulator and planner work on; made from
/// a session, from JSON (docs/workload.md) or by a generator. A plain value; any thread may read it.
struct Workload {
  std::string name;
  std::string source;  ///< "recorded", "synthetic" or "manual"
  std::vector<Operation> operations;
  std::vector<Tensor> tensors;
  std::int64_t budget = 0;  ///< bytes of GPU memory for the tensors
  LinkRates link;
  bool operator==(const Workload&) const = default;
};

/// Sum of all operations' durations: the time of an iteration in memory, host gaps left out.
std::int64_t compute_time(const Workload& workload);

/// Bytes alive while each operation runs: persistent tensors, and others from birth to death. One entry per
/// operation.
std::vector<std::int64_t> allocated_bytes(const Workload& workload);

/// The largest of these: the job's footprint.
std::int64_t footprint(const Workload& workload);

/// Bytes of the distinct tensors that each operation touches.
std::vector<std::int64_t> working_sets(const Workload& workload);

}  // namespace tferry::analyzer
