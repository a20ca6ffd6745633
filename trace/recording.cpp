#include "trace/recording.hpp"

#include <algorithm>
#include <memory>

namespace tferry::trace {
namespace {

template <typename Record>
bool take(const SpoolRecordView& record, std::vector<Record>& into) {
  const auto typed = record.as<Record>();
  if (typed) into.push_back(*typed);
  return typed.has_value();
}

bool has_series(const RecordedProcess& process, std::uint64_t series) {
  return series != 0 && std::any_of(process.spools.begin(), process.spools.end(),
                                    [series](const auto& spool) { return spool.header.series == series; });
}

bool same_image(const RecordedProcess& process, const SpoolHeader& header) {
  return process.pid == header.pid && (!process.has(header.source) || has_series(process, header.series));
}

void read_into(SpoolReader& reader, RecordedProcess& process, Recording& recording) {
  SpoolSummary summary;
  const bool continues = has_series(process, reader.header().series);
  while (const auto record = reader.next()) {
    if (continues && reader.block().repeats) continue;
    const std::int64_t time_ns = record->time_ns();
    if (summary.blocks.empty() || summary.blocks.back().offset != reader.block().offset) {
      summary.blocks.push_back(reader.block());
      summary.blocks.back().first_ns = 0;
    }
    // Records without a time must not hide when the others were.
    std::int64_t& first_ns = summary.blocks.back().first_ns;
    if (time_ns > 0 && (first_ns == 0 || time_ns < first_ns)) first_ns = time_ns;
    summary.last_ns = std::max(summary.last_ns, time_ns);
    if (const auto string = record->as<StringRecord>()) {
      recording.strings.try_emplace(string->id, record->text());
    } else {
      process.add(*record);
    }
  }
  summary.path = reader.path();
  summary.header = reader.header();
  summary.has_status = reader.status().has_value();
  summary.status = reader.status().value_or(SpoolStatus{});
  summary.damage = reader.damage();
  summary.unread_bytes = reader.unread_bytes();
  summary.records = reader.records();
  process.spools.push_back(std::move(summary));
}

}  // namespace

void RecordedProcess::add(const SpoolRecordView& record) {
  if (const auto transfer = record.as<TransferRecord>()) {
    if (transfer->stream != 0) transfer_streams.insert(transfer->stream);
    return;
  }
  if (take(record, processes) || take(record, devices) || take(record, streams) || take(record, losses) ||
      take(record, nvlinks) || take(record, ranges)) {
    return;
  }
  if (record.kind() >= RecordKind::kCount || record.kind() == RecordKind::kNone) ++unknown_records;
}

bool RecordedProcess::has(SpoolSource source) const {
  return std::any_of(spools.begin(), spools.end(),
                     [source](const SpoolSummary& spool) { return spool.header.source == source; });
}

Recording Recording::read(std::vector<std::string> paths) {
  Recording recording;
  std::vector<std::unique_ptr<SpoolReader>> readers;
  for (const std::string& path : paths) {
    try {
      readers.push_back(std::make_unique<SpoolReader>(path));
    } catch (const SpoolError& error) {
      recording.unreadable.emplace_back(error.what());
    }
  }
  std::stable_sort(readers.begin(), readers.end(), [](const auto& a, const auto& b) {
    return a->header().start_monotonic_ns < b->header().start_monotonic_ns;
  });
  for (const auto& reader : readers) {
    // The newest image first: a spool of a process that called exec belongs to what runs now.
    auto place =
        std::find_if(recording.processes.rbegin(), recording.processes.rend(),
                     [&](const RecordedProcess& process) { return process.pid == reader->header().pid; });
    if (place == recording.processes.rend() || !same_image(*place, reader->header())) {
      recording.processes.emplace_back().pid = reader->header().pid;
      place = recording.processes.rbegin();
    }
    read_into(*reader, *place, recording);
  }
  return recording;
}

}  // namespace tferry::trace
