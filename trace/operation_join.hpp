#pragma once

#include "trace/join.hpp"
#include "trace/record_window.hpp"
#include "trace/recording.hpp"
#include "trace/stream_map.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tferry::trace {

/// A launch, copy, memset or movement of the runtime, as hooks saw it.
struct OperationCall {
  enum class From : std::uint8_t { kKernel, kMemcpy, kMemset, kGraph, kTransfer };
  From from = From::kKernel;
  std::size_t index = 0;  ///< in the window's records of that kind
  std::int32_t device = -1;
  std::uint64_t handle = 0;  ///< CUstream
  std::int64_t time_ns = 0;
};

/// What is known about the streams of one process image, from its stream records and from what was joined.
class KnownStreams {
 public:
  explicit KnownStreams(const RecordedProcess& process);

  std::optional<ActivityStream> stream_of(const OperationCall& call) const {
    return map_.find(call.handle, call.device, call.time_ns);
  }
  StreamOwner owner(ActivityStream stream) const;
  /// Activity was recorded at that time: in a range that was asked for, or because none was.
  bool recorded(std::int64_t time_ns) const;
  /// Notes that a call names a stream: then it is no other handle's.
  void name(const OperationCall& call, ActivityStream stream);
  bool named(ActivityStream stream) const { return named_.count(stream) > 0; }
  /// What was found out about a handle that no record names.
  void assume(std::uint64_t handle, std::int32_t device, ActivityStream stream);

 private:
  StreamMap map_;
  std::set<std::uint64_t> runtime_handles_;
  std::map<ActivityStream, StreamOwner> owners_;
  std::set<ActivityStream> named_;
  std::vector<RangeRecord> ranges_;
};

/// Joins the calls of one process image with its activity records, as far as a window holds them: translates
/// stream handles, joins, and tells the partner of each. What is not settled has to be in the next window,
/// too; with `last` everything is settled.
///
/// Handles that no StreamRecord names (a default stream, a collector that came late) are matched with the
/// activity stream of their device whose records fit best, if most of them do.
class OperationJoin {
 public:
  OperationJoin(const RecordWindow& window, KnownStreams& streams, bool last);

  const std::vector<OperationCall>& calls() const { return calls_; }
  const JoinCounts& counts() const { return joined_.counts; }
  /// Settled calls that no activity was recorded of: outside of the ranges that were asked for.
  std::int64_t calls_outside() const;
  bool call_has_record(std::size_t call) const { return joined_.record_of_call[call] >= 0; }
  bool call_settled(std::size_t call) const { return joined_.call_settled[call]; }
  bool kernel_settled(std::size_t index) const { return joined_.record_settled[index]; }
  bool memcpy_settled(std::size_t index) const { return joined_.record_settled[first_memcpy_ + index]; }
  bool memset_settled(std::size_t index) const { return joined_.record_settled[first_memset_ + index]; }
  /// Settled activity records of the program's streams that have no call. The runtime's own work has none by
  /// design.
  std::int64_t records_without_call() const;
  /// The call of the n-th activity record of its kind; null if it has none.
  const OperationCall* call_of_kernel(std::size_t index) const { return call_of(index); }
  const OperationCall* call_of_memcpy(std::size_t index) const { return call_of(first_memcpy_ + index); }
  const OperationCall* call_of_memset(std::size_t index) const { return call_of(first_memset_ + index); }
  /// The n-th copy record of a movement of the runtime, by its index in calls(); none if it has no record.
  std::optional<std::size_t> memcpy_of_call(std::size_t call) const;

  /// Correlation id of a call's records; none if it has no record.
  std::optional<std::int64_t> correlation_of_call(std::size_t call) const;

 private:
  const OperationCall* call_of(std::size_t record) const {
    const std::int64_t call = joined_.call_of_record[record];
    return call < 0 ? nullptr : &calls_[static_cast<std::size_t>(call)];
  }
  void add_call(const OperationCall& call, std::uint64_t sequence, const OperationShape& shape);
  template <typename Activity>
  void add_record(const Activity& activity, const OperationShape& shape);
  void collect_calls();
  void collect_records();
  void infer_streams(bool last);
  void set_streams();

  const RecordWindow& window_;
  KnownStreams& streams_;
  std::map<ActivityStream, std::int32_t> device_of_stream_;
  std::vector<OperationCall> calls_;
  std::vector<JoinCall> join_calls_;
  std::vector<JoinRecord> join_records_;  ///< kernels, then copies, then memsets
  std::size_t first_memcpy_ = 0, first_memset_ = 0;
  JoinResult joined_;
};

}  // namespace tferry::trace
