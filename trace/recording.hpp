#pragma once

#include "trace/spool_reader.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::trace {

/// What one spool was like, for the report on the recording's quality, and where its records are.
struct SpoolSummary {
  std::string path;
  SpoolHeader header;
  SpoolStatus status;
  bool has_status = false;
  SpoolDamage damage;
  std::int64_t unread_bytes = 0;
  std::int64_t records = 0;
  std::int64_t last_ns = 0;
  std::vector<SpoolBlock> blocks;  ///< whole ones, in their order; first_ns of those records that have a time
};

/// One process image (a process that calls exec has several): its spools, and the few records that all others
/// refer to. The many are read in windows (record_window.hpp).
struct RecordedProcess {
  std::int32_t pid = 0;
  std::vector<SpoolSummary> spools;
  std::vector<ProcessRecord> processes;
  std::vector<DeviceRecord> devices;
  std::vector<StreamRecord> streams;
  std::vector<LossRecord> losses;
  std::vector<NvlinkRecord> nvlinks;
  std::vector<RangeRecord> ranges;
  std::set<std::uint64_t> transfer_streams;  ///< handles on which the runtime moved something
  std::int64_t unknown_records = 0;          ///< of kinds that this version does not know

  /// Takes over what of a record belongs here.
  void add(const SpoolRecordView& record);
  bool has(SpoolSource source) const;
};

/// What the spools of one run are about. Memory: the records above, and distinct strings.
///
/// Spools of one process id belong to one image until a source repeats: then the process has called exec, or
/// the spools are of one series (spool_series.hpp).
struct Recording {
  std::vector<RecordedProcess> processes;
  std::unordered_map<StringId, std::string> strings;
  std::vector<std::string> unreadable;  ///< a sentence for each spool that could not be read

  /// Reads spools of one host, in any order. Never throws for a bad spool: it goes to `unreadable`.
  static Recording read(std::vector<std::string> paths);
};

}  // namespace tferry::trace
