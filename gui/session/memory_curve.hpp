#pragma once

#include "gui/session/gpu_time.hpp"
#include "gui/session/lane.hpp"
#include "gui/time/time_map.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <vector>

namespace tferry::gui {

/// Bytes over time that one process holds on one GPU: allocated; of these dead (after the last access, until
/// the free; where accesses are known) and parked by the runtime.
class MemoryCurve {
 public:
  MemoryCurve() = default;
  /// Reads all its allocations, as they stand at `from_ns` and later change, at the times at which the GPU
  /// came to them. Throws trace::SessionError.
  MemoryCurve(trace::Session& session, std::int64_t process_id, std::int64_t device_id, const GpuTime& time,
              std::int64_t from_ns = 0);

  /// mean: allocated at the most in a bucket, high the same; part: dead; beyond: parked, then.
  std::vector<Sample> samples(TimeRange range, std::int64_t bucket_ns) const;
  std::int64_t peak_ns() const { return peak_ns_; }
  double peak_bytes() const { return peak_bytes_; }

 private:
  struct Step {
    std::int64_t time_ns;
    double live, dead, parked;  ///< from then on
  };
  std::vector<Step> steps_;
  std::int64_t peak_ns_ = 0;
  double peak_bytes_ = 0;
};

}  // namespace tferry::gui
