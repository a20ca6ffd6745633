#pragma once

#include "trace/recording.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tferry::trace {

/// The accesses of one operation.
struct OperationAccesses {
  std::uint64_t operation = 0;
  std::vector<AccessEntry> entries;
};

/// Records of one process image, by kind, as they came.
struct RecordWindow {
  std::vector<KernelLaunchRecord> kernel_calls;
  std::vector<KernelActivityRecord> kernels;
  std::vector<MemcpyCallRecord> memcpy_calls;
  std::vector<MemcpyActivityRecord> memcpys;
  std::vector<MemsetCallRecord> memset_calls;
  std::vector<MemsetActivityRecord> memsets;
  std::vector<GraphLaunchRecord> graph_launches;
  std::vector<TransferRecord> transfers;
  std::vector<AllocationRecord> allocations;
  std::vector<FreeRecord> frees;
  std::vector<OperationAccesses> accesses;
  std::vector<SyncRecord> syncs;
  std::vector<MarkerRecord> markers;
  std::vector<CounterRecord> counters;
  std::vector<GateRecord> gates;
  std::vector<UmEventRecord> um_events;
  std::vector<OverheadRecord> overheads;
  std::vector<ApiCallRecord> api_calls;
  std::vector<PoolOperationRecord> pool_operations;

  /// Takes a record over if it is of one of these kinds.
  void add(const SpoolRecordView& record);
};

/// Reads the records of a process image in windows of time, in bounded memory. After each step the window has
/// every call, activity record and free of the process that lies before a moment, whatever the order in which
/// they were written: blocks say what times they hold, so those that were written late are read early. Of
/// other kinds it has what the blocks held that were read. What the user does not take out of the window
/// stays in it.
///
///   WindowReader reader(process, bytes);
///   while (reader.next(window)) { ... }    // the last step reads the rest
///
/// Threads: one at a time.
class WindowReader {
 public:
  /// Reads about `window_bytes` of spools in a step. A spool that cannot be opened any more has no records.
  WindowReader(const RecordedProcess& process, std::int64_t window_bytes);

  /// False when everything had been read before.
  bool next(RecordWindow& window);
  /// After the last step nothing more comes.
  bool at_end() const { return next_ == plan_.size(); }

 private:
  struct Step {
    std::int64_t from_ns;  ///< no record of the block, nor of any that is read later, is earlier
    std::size_t file;
    SpoolBlock block;
  };
  void plan_blocks(const SpoolSummary& spool);
  void read_block(const Step& step, std::int64_t before_ns, RecordWindow& window);

  std::vector<std::unique_ptr<SpoolReader>> files_;
  std::vector<Step> plan_;
  std::size_t next_ = 0;
  bool done_ = false;
  std::int64_t window_bytes_;
  RecordWindow later_;  ///< read, but not before the moment
};

}  // namespace tferry::trace
