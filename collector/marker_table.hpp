#pragma once

#include "collector/decode.hpp"
#include "trace/records.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tferry::collector {

/// Makes NVTX ranges whole: CUPTI gives a record for the start of a range and one for its end, with the same
/// id, in any order (threads have buffers of their own). At most `limit` halves are kept; further ones are
/// counted as lost. Threads: one.
class MarkerTable {
 public:
  explicit MarkerTable(std::size_t limit = 1 << 16) : limit_(limit) {}

  /// The range or mark that this record completes, if any. The end of a range has no name of its own.
  std::optional<trace::MarkerRecord> add(const CUpti_ActivityMarker2& marker, TimeBase time,
                                         trace::StringId name, trace::StringId domain);
  /// Ranges without an end so far, oldest first; the table is empty afterwards.
  std::vector<trace::MarkerRecord> take_open();

  /// Halves that were not kept, and ends that never got a start (counted when they are taken out).
  std::int64_t lost() const { return lost_; }

 private:
  struct Half {
    trace::MarkerRecord record;
    bool is_start = false;
  };
  std::size_t limit_;
  std::int64_t lost_ = 0;
  std::unordered_map<std::uint64_t, Half> halves_;
};

}  // namespace tferry::collector
