#pragma once

#include "trace/ingest.hpp"
#include "trace/ingest_names.hpp"
#include "trace/operation_join.hpp"
#include "trace/record_window.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tferry::trace {

/// Writes one process image into a session, window by window; used once. Memory: a window, and what is alive:
/// allocations, calls whose records are still to come, streams.
class ProcessIngest {
 public:
  ProcessIngest(const RecordedProcess& process, IngestNames& names, SessionWriter& writer,
                IngestReport& report);
  void write(std::int64_t window_bytes);

 private:
  using From = OperationCall::From;

  void write_process();
  void write_devices();
  void write_streams();
  /// Writes what of the window is settled, and takes it out.
  void write_window(bool last);
  void write_kernels();
  void write_memcpys();
  void write_memsets();
  void write_graph_launches();
  void take_allocations();
  void write_accesses();
  void take_frees();
  /// Forgets the ids of allocations that were freed before this window and that nothing in it names.
  void forget_freed();
  void write_live_allocations();
  void write_swaps();
  void write_gates(bool last);
  void write_events();
  void write_api_calls();
  void write_pool_operations();
  void write_ranges();
  void write_nvlinks();
  /// Takes out of the window what is settled.
  void drop_settled();
  void write_losses();
  void write_spool_losses(const SpoolSummary& spool);
  void lose(const std::string& what, LossReason reason, std::optional<std::int64_t> count,
            std::optional<std::int64_t> first_ns = {}, std::optional<std::int64_t> last_ns = {},
            const std::string& detail = {});

  std::optional<std::int64_t> device_row(std::int32_t ordinal) const;
  std::int64_t stream_row(ActivityStream stream, std::int32_t device, std::uint64_t handle);
  std::optional<std::int64_t> stream_row_of(const OperationCall& call);
  /// Start and end if they can be, else NULL and counted.
  template <typename Row, typename Activity>
  void set_times(Row& row, const Activity& activity, RecordKind kind);
  template <typename Row>
  void set_call(Row& row, const OperationCall& call);
  template <typename Row, typename Activity>
  void set_activity(Row& row, const Activity& activity, RecordKind kind);
  /// Settled calls of a kind that have no record, in their order.
  template <typename Write>
  void for_each_unmatched(From from, Write&& write);
  std::optional<std::int64_t> allocation_row(std::uint64_t number) const;

  const RecordedProcess& process_;
  IngestNames& names_;
  SessionWriter& writer_;
  IngestReport& report_;
  KnownStreams known_streams_;
  RecordWindow window_;
  const OperationJoin* join_ = nullptr;  ///< of the window
  std::int64_t process_id_ = 0;
  std::map<std::int32_t, std::int64_t> devices_;  ///< by ordinal
  std::map<ActivityStream, std::int64_t> streams_;
  std::map<std::uint64_t, std::int64_t> call_streams_;     ///< of handles without an activity stream
  std::unordered_map<std::uint64_t, AllocationRow> live_;  ///< by number; written when they are freed
  std::unordered_map<std::uint64_t, std::int64_t> freed_;  ///< rows by number, in this window or named in it
  std::unordered_set<std::uint64_t> freed_before_;         ///< those of freed_ that an earlier window freed
  std::int64_t frees_alone_ = 0;
  std::vector<std::int64_t> memcpy_rows_;  ///< by index in window_.memcpys
  std::map<RecordKind, std::int64_t> bad_times_;
  JoinCounts counts_;
  std::int64_t records_without_call_ = 0;
};

}  // namespace tferry::trace
