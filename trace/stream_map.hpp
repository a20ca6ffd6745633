#pragma once

#include "trace/records.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tferry::trace {

/// A stream as activity records name it.
struct ActivityStream {
  std::uint32_t context_id = 0;
  std::uint32_t stream_id = 0;
  auto operator<=>(const ActivityStream&) const = default;
};

/// Which activity stream a stream handle meant at a time: handles are reused, and those of default streams
/// (0, 1, 2) mean another stream on each device.
class StreamMap {
 public:
  explicit StreamMap(std::span<const StreamRecord> records);

  /// None if no record names the handle.
  std::optional<ActivityStream> find(std::uint64_t handle, std::int32_t device, std::int64_t time_ns) const;
  /// Adds what was found out otherwise, for all times.
  void assume(std::uint64_t handle, std::int32_t device, ActivityStream stream);

 private:
  struct Span {
    std::int64_t from_ns;
    ActivityStream stream;
  };
  using Key = std::pair<std::uint64_t, std::int32_t>;
  static Key key(std::uint64_t handle, std::int32_t device);

  std::map<Key, std::vector<Span>> spans_;
};

}  // namespace tferry::trace
