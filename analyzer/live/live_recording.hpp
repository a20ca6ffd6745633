#pragma once

#include "analyzer/session/read_recording.hpp"
#include "trace/spool_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tferry::analyzer {

/// A job's recording as its hooks write it: what read_recordings makes of a session, made of a spool while
/// the job runs. About the device that the process used first: plans are for one.
///
/// Memory: what the spool holds. One thread.
class LiveRecording {
 public:
  /// Takes over one record. Records of other kinds and devices are passed over.
  void add(const trace::SpoolRecordView& record);

  const SessionRecording& recording() const { return recording_; }
  std::size_t operations() const { return recording_.recording.operations.size(); }
  /// Of the process; nothing before it used one.
  std::optional<int> device() const { return device_; }
  /// Bytes that the runtime moved each way so far, as far as was recorded.
  std::int64_t bytes_out() const { return bytes_out_; }
  std::int64_t bytes_in() const { return bytes_in_; }
  /// Both ways together while operations of these numbers [begin, end) were submitted.
  std::int64_t moved_between(std::int64_t begin, std::int64_t end) const;

 private:
  template <typename Call>
  void add_call(const Call& call, std::uint64_t identity, SessionRecording::Kind kind,
                const std::string& name);
  void add_accesses(std::uint64_t operation, const trace::SpoolRecordView& record);
  template <typename Activity>
  void add_times(const Activity& activity);

  SessionRecording recording_;
  std::optional<int> device_;
  std::unordered_map<trace::StringId, std::string> strings_;
  std::unordered_map<std::uint64_t, std::uint32_t> operations_;  ///< index by number
  /// Start and end by number, of operations that ended before their calls were recorded.
  std::unordered_map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> early_times_;
  std::unordered_map<std::uint64_t, std::uint32_t> allocations_;  ///< index by number
  std::int64_t bytes_out_ = 0, bytes_in_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> moves_;  ///< operation's number, bytes; by number
};

}  // namespace tferry::analyzer
