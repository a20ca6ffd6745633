#pragma once

#include "trace/ingest.hpp"
#include "trace/ingest_names.hpp"
#include "trace/operation_join.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tferry::trace {

/// Writes one process image into a session; used once.
class ProcessIngest {
 public:
  ProcessIngest(const RecordedProcess& process, IngestNames& names, SessionWriter& writer,
                IngestReport& report);
  void write();

 private:
  using From = OperationCall::From;

  void write_process();
  void write_devices();
  void write_streams();
  void write_kernels();
  void write_memcpys();
  void write_memsets();
  void write_graph_launches();
  void write_allocations();
  void write_swaps();
  void write_events();
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
  /// Calls of a kind that have no record, in their order.
  template <typename Write>
  void for_each_unmatched(From from, Write&& write);

  const RecordedProcess& process_;
  IngestNames& names_;
  SessionWriter& writer_;
  IngestReport& report_;
  OperationJoin join_;
  std::int64_t process_id_ = 0;
  std::map<std::int32_t, std::int64_t> devices_;  ///< by ordinal
  std::map<ActivityStream, std::int64_t> streams_;
  std::map<std::uint64_t, std::int64_t> call_streams_;  ///< of handles without an activity stream
  std::map<std::uint64_t, std::int64_t> allocations_;   ///< rows by number
  std::vector<std::int64_t> memcpy_rows_;               ///< by index in process_.memcpys
  std::map<RecordKind, std::int64_t> bad_times_;
};

}  // namespace tferry::trace
