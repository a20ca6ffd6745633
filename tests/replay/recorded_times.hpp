#pragma once

#include "trace/records.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::replay {

/// How long kernels took, as a collector recorded it: the median by name and grid (the first launch of a
/// kernel takes many times as long).
class RecordedTimes {
 public:
  /// Of a collector's spool, which may be compressed by gzip; empty: nothing is known. Throws as
  /// read_recorded_job does.
  explicit RecordedTimes(const std::string& spool);

  static std::uint64_t key(trace::StringId name, const trace::Dim3& grid);
  /// 0: not known.
  std::int64_t median_ns(trace::StringId name, const trace::Dim3& grid) const;

 private:
  std::unordered_map<std::uint64_t, std::vector<std::int64_t>> times_;  ///< sorted
};

}  // namespace tferry::replay
