#pragma once

#include "analyzer/session/id_index.hpp"
#include "analyzer/session/read_recording.hpp"
#include "trace/session_rows.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace tferry::analyzer {

/// An operation as one row tells of it.
struct RankOperation {
  RecordedOperation recorded;
  SessionRecording::Source source;
  bool numbered = false;  ///< some recorded call asked for it
};

/// What one process did on one GPU while it is being read: first all operations, then order_operations(),
/// then the rest. Rows of others are ignored.
class RecordedRank {
 public:
  RecordedRank(std::int64_t process, std::int64_t device) {
    result_.process_id = process;
    result_.device_id = device;
  }

  void add(const RankOperation& operation) { (operation.numbered ? numbered_ : loose_).push_back(operation); }
  /// Makes operations of the rows: those with the same number are one. A graph launch tells what it is, else
  /// the first row does.
  void order_operations();

  void add_gate(std::int64_t operation);
  /// One that no plan moves is known, and not more: accesses to it are not unknown.
  void add(const trace::AllocationRow& row);
  void allocations_added() { allocations_.build(); }
  void name(std::int64_t allocation, std::uint32_t label);
  void add(const trace::AccessRow& row);
  /// `names` are those that operations and labels refer to.
  SessionRecording finish(const NamePool& names);

 private:
  SessionRecording result_;
  std::deque<RankOperation> numbered_, loose_;
  IdIndex operations_;   ///< by number
  IdIndex allocations_;  ///< by id of the row
};

}  // namespace tferry::analyzer
