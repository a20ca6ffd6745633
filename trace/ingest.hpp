#pragma once

#include "trace/join.hpp"
#include "trace/recording.hpp"
#include "trace/session_writer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::trace {

struct IngestReport {
  std::int64_t spools = 0;
  std::int64_t unreadable_spools = 0;
  std::int64_t processes = 0;
  std::int64_t records = 0;
  std::int64_t kernels = 0;       ///< that ran
  std::int64_t kernel_calls = 0;  ///< that hooks saw
  std::int64_t allocations = 0;
  std::int64_t bad_times = 0;
  JoinCounts join;
};

/// Writes a recording into a session: recorded tables only, the analyzer's come later. Joins calls with
/// activity records (join.hpp), processes' device numbers with cards (by UUID), allocations with frees,
/// movements of the runtime with the copies that made them. What does not fit is counted in table `loss`,
/// times that cannot be are left out, and nothing throws but the session itself (SessionError).
///
/// The spools are read in windows of time, about `window_bytes` at once, so that memory does not grow with
/// the recording: a window, what is alive at its end, and distinct names.
///
///   SessionWriter writer = SessionWriter::create("train.1.tferry");
///   IngestReport report = ingest(Recording::read(spool_paths), writer);
///   writer.publish();
IngestReport ingest(const Recording& recording, SessionWriter& writer,
                    std::int64_t window_bytes = std::int64_t{16} << 20);

/// Keeps a report's totals in the session's table `meta`. ingest() does so itself; who makes one session of
/// several recordings does it once more with their sum.
void set_totals(SessionWriter& writer, const IngestReport& report);

}  // namespace tferry::trace
