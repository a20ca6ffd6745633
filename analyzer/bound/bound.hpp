#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tferry::analyzer {

/// What takes the time of a window: the GPU, the link in one direction, or the link in both because they
/// disturb each other.
enum class Resource : std::uint8_t { kCompute, kIn, kOut, kDuplex };
std::string_view to_string(Resource resource);

/// Between the starts of two operations, at least so much work has to be done.
struct BoundWindow {
  std::uint32_t from = 0;  ///< operation
  std::uint32_t to = 0;    ///< operation; + number of operations when in the next iteration
  double time_ns = 0;
  std::int64_t bytes_in = 0;   ///< that must come in meanwhile
  std::int64_t bytes_out = 0;  ///< that must go out meanwhile
  Resource resource = Resource::kCompute;
};

/// No plan, however clever, makes an iteration of this workload shorter.
struct Bound {
  double time_ns = 0;
  Resource limiting = Resource::kCompute;  ///< the one with the largest part
  double parts_ns[4] = {};                 ///< by Resource; their sum is time_ns
  double compute_ns = 0;                   ///< the iteration with everything resident, no host gaps
  std::int64_t forced_in = 0;              ///< bytes that must come in per iteration, whatever the time
  std::int64_t forced_out = 0;
  std::vector<BoundWindow> chain;  ///< disjoint windows that make up time_ns, in order
};

/// The bound of one rank: forced bytes between any two of at most `breakpoints` operations, by conservation
/// of bytes under the budget, and the longest chain of disjoint windows once around the iteration.
///
/// With M the budget, t_u the start of operation u, on the unrolled axis and u < v <= u + n:
/// - bytes with contents whose first use from u on is a read in [u, v], plus what u writes anew, less M,
///   must come in during [t_u, t_v];
/// - bytes needed from v on, or kept at v, whose last write before v lies in [u, v-1], plus what else v must
///   have on the card, less M, must go out during [t_u, t_v].
/// It takes tensors as wholes, knows of dead and clean contents what the workload says, and charges no reads
/// in place, so a measured time below it shows an error of the model. Requires a valid workload. About 30 ms
/// for 300 breakpoints. Pure; any thread.
Bound lower_bound(const Workload& workload, std::size_t breakpoints = 300);

/// What must happen before and after each breakpoint of an iteration that begins at its first operation:
/// entry k stands for the k-th breakpoint, the first for operation 0, the last for the iteration's end, which
/// is where the next one's first operation starts. For bounds of several ranks.
struct RoundProfile {
  std::vector<double> time_before_ns, time_after_ns;
  std::vector<double> in_before, out_before;  ///< bytes
  std::vector<double> in_after, out_after;
  /// From each breakpoint only to where the last operation has ended. What the next iteration's first
  /// operation still waits for is not in it: after ranks have waited for each other, they do not start
  /// together.
  std::vector<double> time_to_end_ns, in_to_end, out_to_end;
};
RoundProfile round_profile(const Workload& workload, std::size_t breakpoints = 120);

}  // namespace tferry::analyzer
