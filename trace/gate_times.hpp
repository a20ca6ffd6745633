#pragma once

#include "trace/operation_join.hpp"
#include "trace/record_window.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tferry::trace {

/// When operations that had to wait for memory stood still on the GPU. The hook knows only when they were
/// called, which a program that runs ahead does long before: the GPU waits from when it is done with what was
/// before them in their stream until they begin.
class GateTimes {
 public:
  GateTimes(const RecordWindow& window, const OperationJoin& join);

  struct Wait {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  /// As recorded where the operation has no record. Nothing: its call is not settled yet.
  std::optional<Wait> of(const GateRecord& gate) const;

 private:
  struct Ran {
    bool settled = false;
    ActivityStream stream;
    std::int64_t start_ns = 0;  ///< 0: no record
  };

  void find_operations(const RecordWindow& window, const OperationJoin& join);
  template <typename Activity, typename CallOf>
  void find_times(const std::vector<Activity>& records, const RecordWindow& window, CallOf call_of);
  std::int64_t busy_until(ActivityStream stream, std::int64_t before_ns) const;

  std::unordered_map<std::uint64_t, Ran> operations_;  ///< that waited
  std::map<ActivityStream, std::vector<std::pair<std::int64_t, std::int64_t>>>
      busy_;  ///< start, and the end of all that began so far
};

}  // namespace tferry::trace
