#include "trace/ingest.hpp"

#include "trace/process_ingest.hpp"

#include <ctime>

namespace tferry::trace {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

IngestReport ingest(const Recording& recording, SessionWriter& writer, std::int64_t window_bytes) {
  IngestReport report;
  report.unreadable_spools = static_cast<std::int64_t>(recording.unreadable.size());
  writer.set_meta("created_by", std::string("tferry ") + TFERRY_VERSION);
  writer.set_meta("created", utc_now());
  writer.set_meta("clock", "CLOCK_MONOTONIC");

  IngestNames names(recording, writer);
  for (const RecordedProcess& process : recording.processes) {
    ++report.processes;
    for (const SpoolSummary& spool : process.spools) {
      ++report.spools;
      report.records += spool.records;
    }
    ProcessIngest(process, names, writer, report).write(window_bytes);
  }
  for (const std::string& reason : recording.unreadable) {
    writer.insert(LossRow{.what = "spool", .reason = "damaged", .count = 1, .detail = reason});
  }
  set_totals(writer, report);
  return report;
}

void set_totals(SessionWriter& writer, const IngestReport& report) {
  writer.set_meta("spools", std::to_string(report.spools));
  writer.set_meta("records", std::to_string(report.records));
  writer.set_meta("join.calls", std::to_string(report.join.calls));
  writer.set_meta("join.records", std::to_string(report.join.records));
  writer.set_meta("join.matched_calls", std::to_string(report.join.matched_calls));
  writer.set_meta("join.matched_records", std::to_string(report.join.matched_records));
  writer.set_meta("join.resynchronisations", std::to_string(report.join.resynchronisations));
}

}  // namespace tferry::trace
