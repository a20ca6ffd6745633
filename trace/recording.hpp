#pragma once

#include "trace/spool_reader.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::trace {

/// The accesses of one operation.
struct OperationAccesses {
  std::uint64_t operation = 0;
  std::vector<AccessEntry> entries;
};

/// What one spool was like, for the report on the recording's quality.
struct SpoolSummary {
  std::string path;
  SpoolHeader header;
  SpoolStatus status;
  bool has_status = false;
  SpoolDamage damage;
  std::int64_t unread_bytes = 0;
  std::int64_t records = 0;
  std::int64_t last_ns = 0;
};

/// All records of one process image (a process that calls exec has several), by kind, as they came.
struct RecordedProcess {
  std::int32_t pid = 0;
  std::vector<SpoolSummary> spools;
  std::vector<ProcessRecord> processes;
  std::vector<DeviceRecord> devices;
  std::vector<ContextRecord> contexts;
  std::vector<StreamRecord> streams;
  std::vector<KernelLaunchRecord> kernel_calls;
  std::vector<KernelActivityRecord> kernels;
  std::vector<MemcpyCallRecord> memcpy_calls;
  std::vector<MemcpyActivityRecord> memcpys;
  std::vector<MemsetCallRecord> memset_calls;
  std::vector<MemsetActivityRecord> memsets;
  std::vector<GraphLaunchRecord> graph_launches;
  std::vector<AllocationRecord> allocations;
  std::vector<FreeRecord> frees;
  std::vector<OperationAccesses> accesses;
  std::vector<SyncRecord> syncs;
  std::vector<MarkerRecord> markers;
  std::vector<CounterRecord> counters;
  std::vector<TransferRecord> transfers;
  std::vector<GateRecord> gates;
  std::vector<UmEventRecord> um_events;
  std::vector<OverheadRecord> overheads;
  std::vector<LossRecord> losses;
  std::int64_t unknown_records = 0;  ///< of kinds that this version does not know

  /// Takes one record over; strings go elsewhere.
  void add(const SpoolRecordView& record);
};

/// Everything that the spools of one run hold, in memory.
///
/// Spools of one process id belong to one image until a source repeats: then the process has called exec.
struct Recording {
  std::vector<RecordedProcess> processes;
  std::unordered_map<StringId, std::string> strings;
  std::vector<std::string> unreadable;  ///< a sentence for each spool that could not be read

  /// Reads spools of one host, in any order. Never throws for a bad spool: it goes to `unreadable`.
  static Recording read(std::vector<std::string> paths);
};

}  // namespace tferry::trace
