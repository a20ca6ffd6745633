#pragma once

#include "trace/session.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tferry::gui {

/// When a GPU comes to what the program did at a time of the host's clock. A program that runs ahead
/// allocates and frees long before the kernels around it run, often a whole iteration: what is drawn beside
/// kernels and copies has to go by the GPU's progress, which is that of the stream with the most kernels.
class GpuTime {
 public:
  /// Knows nothing: the GPU is where the program is.
  GpuTime() = default;
  using Gpu = std::pair<std::int64_t, std::int64_t>;  ///< process and device
  /// Of every process and GPU. Empty for sessions of more than a few hundred thousand kernels: they are
  /// looked at from so far off that it does not matter. Throws trace::SessionError.
  static std::map<Gpu, GpuTime> read(trace::Session& session);

  /// The end of what was called before, or the same time where the GPU had nothing left to do. Never before
  /// `host_ns`, and later for later times.
  std::int64_t of(std::int64_t host_ns) const;
  /// The same of what the next operation needs: while the program is ahead, when that begins.
  std::int64_t needed(std::int64_t host_ns) const;
  /// The earliest time of the host at which something can have happened that the GPU came to after `gpu_ns`.
  std::int64_t called_after(std::int64_t gpu_ns) const;

 private:
  struct Operation {
    std::int64_t call_ns = 0;
    std::int64_t start_ns = 0;  ///< not before those called earlier are done
    std::int64_t done_ns = 0;   ///< all that were called up to this one
  };

  explicit GpuTime(std::vector<Operation> operations);

  std::vector<Operation> operations_;  ///< by call
};

}  // namespace tferry::gui
