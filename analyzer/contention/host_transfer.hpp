#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::analyzer {

/// Where bytes go: to a GPU, from a GPU, or between two.
enum class Way : std::uint8_t { kIn, kOut, kPeer };

/// The host's side of a transfer.
enum class HostMemory : std::uint8_t { kUnknown, kPageable, kPinned, kManaged };

/// How the time that a transfer takes alone is known.
enum class SoloSource : std::uint8_t { kUnknown, kMeasured, kLearned, kAssumed };

/// One movement of bytes between a GPU and the host, or another GPU, that a GPU recorded with its times: a
/// copy of the program, one of the runtime's, or a migration of managed memory. Contention (contention/)
/// works on these and knows no session.
struct HostTransfer {
  std::int64_t process = 0;
  std::int64_t device = 0;
  Way way = Way::kIn;
  HostMemory memory = HostMemory::kUnknown;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< after start_ns
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  bool far = false;  ///< its host memory is known to lie on another NUMA node than the GPU
  /// When it could have begun: asked for, and the work before it in its stream done. Empty: not recorded.
  std::optional<std::int64_t> ready_ns;

  double duration_ns() const { return static_cast<double>(end_ns - start_ns); }
};

/// Which way two GPUs share to host memory.
struct LinkPath {
  std::int64_t device = 0;
  std::vector<std::int64_t> edges;  ///< ids of the links from the GPU to the host, nearest first
};

}  // namespace tferry::analyzer
