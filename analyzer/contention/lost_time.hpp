#pragma once

#include "analyzer/contention/host_transfer.hpp"
#include "analyzer/contention/solo_times.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// What two transfers got in each other's way at, or why a transfer was slow by itself.
enum class Cause : std::uint8_t {
  kLink,          ///< a link that both ways of one GPU, or several GPUs, share
  kCopyEngine,    ///< copies of one process in the same direction of one GPU
  kHostMemory,    ///< GPUs on links of their own, beside each other in host memory
  kLinkOrHost,    ///< one of these two: the tree of links was not recorded
  kPageable,      ///< pageable host memory is staged by the driver
  kNuma,          ///< the host memory lies on another NUMA node than the GPU
  kCollective,    ///< kernels of a collective that move data through host memory, by the counters
  kOtherProcess,  ///< nobody recorded, but the counters saw more than was recorded
  kUnexplained
};
const char* cause_name(Cause cause);

/// Time that one transfer lost to another, or to nobody that is known.
struct Loss {
  std::size_t victim = 0;
  std::optional<std::size_t> culprit;
  Cause cause = Cause::kUnexplained;
  std::optional<std::int64_t> link;  ///< the edge that both share
  std::int64_t begin_ns = 0;  ///< of the time in which they overlapped; of the victim, without a culprit
  std::int64_t end_ns = 0;
  double lost_ns = 0;
};

/// What transfers say about each other.
struct LostTime {
  std::vector<std::optional<double>> lost_ns;  ///< by transfer: duration less solo time, not below 0
  std::vector<Loss> losses;                    ///< add up to lost_ns, transfer by transfer
};

/// Attributes the time that transfers lost. While transfers that share a resource with the victim run, they
/// take the loss in equal parts, evenly over that time, but no more than that time itself; what is left over
/// has no culprit: pageable memory, memory of another NUMA node, traffic that only the counters saw
/// (`foreign_bytes`, by transfer, may be empty; of a collective, where it can have moved most of them:
/// `collective_bytes`), or unexplained. Conserved: the losses of a victim add up to
/// its lost time. In n log n for n transfers of which few overlap. Pure.
LostTime lost_time(std::span<const HostTransfer> transfers, std::span<const SoloTime> solo,
                   std::span<const LinkPath> paths, std::span<const double> foreign_bytes,
                   std::span<const double> collective_bytes = {});

/// What two transfers share; nothing for a copy between GPUs and one to the host.
struct Shared {
  Cause cause = Cause::kUnexplained;
  std::optional<std::int64_t> link;
};
std::optional<Shared> shared_resource(const HostTransfer& a, const HostTransfer& b,
                                      std::span<const LinkPath> paths);

}  // namespace tferry::analyzer
