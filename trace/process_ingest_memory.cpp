// The part of ProcessIngest that is about memory, events and losses.
#include "trace/loss_reason.hpp"
#include "trace/process_ingest.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace tferry::trace {
namespace {

std::optional<std::int64_t> unless(std::int64_t value, std::int64_t unknown) {
  return value == unknown ? std::nullopt : std::optional(value);
}

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

LossReason reason_of(SpoolState state) {
  switch (state) {
    case SpoolState::kDiskFull:
      return LossReason::kDiskFull;
    case SpoolState::kSizeLimit:
      return LossReason::kSizeLimit;
    case SpoolState::kWriteError:
      return LossReason::kWriteError;
    case SpoolState::kRunning:
    case SpoolState::kClosed:
      break;
  }
  return LossReason::kNoBuffer;
}

/// What made a spool drop records, as a sentence's end.
std::string why_dropped(const SpoolStatus& status) {
  switch (status.state) {
    case SpoolState::kDiskFull:
      return "the disk was full, nothing was recorded from then on";
    case SpoolState::kSizeLimit:
      return "its size limit was reached, nothing was recorded from then on";
    case SpoolState::kWriteError:
      return std::string("it could not be written (") + std::strerror(status.error_number) +
             "), nothing was recorded from then on";
    case SpoolState::kRunning:
    case SpoolState::kClosed:
      break;
  }
  return "records came faster than they could be written";
}

}  // namespace

void ProcessIngest::write_allocations() {
  std::unordered_map<std::uint64_t, const FreeRecord*> frees;
  for (const FreeRecord& free : process_.frees) frees.emplace(free.allocation, &free);
  for (const AllocationRecord& record : process_.allocations) {
    AllocationRow row{.process_id = process_id_,
                      .device_id = device_row(record.device),
                      .allocation = as_signed(record.allocation),
                      .address = as_signed(record.address),
                      .bytes = record.bytes,
                      .reserved_bytes = record.reserved_bytes,
                      .memory_kind = record.kind,
                      .api = record.api,
                      .alloc_ns = record.time_ns};
    const auto free = frees.find(record.allocation);
    if (free != frees.end()) {
      row.free_ns = free->second->time_ns;
      frees.erase(free);
    }
    if (record.stream != 0) {
      row.stream_id = stream_row_of({From::kKernel, 0, record.device, record.stream, record.time_ns});
    }
    row.thread = record.thread;
    row.movable = record.movable;
    row.captured = record.captured;
    allocations_[record.allocation] = writer_.insert(row);
  }
  if (!frees.empty()) lose("free", LossReason::kNoPartner, static_cast<std::int64_t>(frees.size()));

  for (const OperationAccesses& accesses : process_.accesses) {
    for (const AccessEntry& entry : accesses.entries) {
      const auto allocation = allocations_.find(entry.allocation);
      writer_.insert(AccessRow{.process_id = process_id_,
                               .operation = as_signed(accesses.operation),
                               .allocation_id = allocation == allocations_.end()
                                                    ? std::nullopt
                                                    : std::optional(allocation->second),
                               .offset = entry.offset,
                               .bytes = unless(entry.bytes, 0),
                               .kind = entry.kind,
                               .known_by = entry.known_by,
                               .argument_offset = entry.known_by == KnownBy::kArgument
                                                      ? std::optional<std::int64_t>(entry.argument_offset)
                                                      : std::nullopt});
    }
  }
}

void ProcessIngest::write_swaps() {
  std::vector<std::optional<std::size_t>> call_of_transfer(process_.transfers.size());
  for (std::size_t i = 0; i < join_.calls().size(); ++i) {
    if (join_.calls()[i].from == From::kTransfer) call_of_transfer[join_.calls()[i].index] = i;
  }
  for (std::size_t i = 0; i < process_.transfers.size(); ++i) {
    const TransferRecord& transfer = process_.transfers[i];
    const auto allocation = allocations_.find(transfer.allocation);
    SwapRow row{.process_id = process_id_, .device_id = device_row(transfer.device), .kind = transfer.kind};
    if (allocation != allocations_.end()) row.allocation_id = allocation->second;
    row.offset = transfer.offset;
    row.bytes = transfer.bytes;
    row.operation = unless(as_signed(transfer.operation), 0);
    row.submit_ns = transfer.time_ns;
    row.wait_ns = transfer.wait_ns;
    if (call_of_transfer[i]) {
      if (const auto copy = join_.memcpy_of_call(*call_of_transfer[i])) row.memcpy_id = memcpy_rows_[*copy];
    }
    writer_.insert(row);
  }
  for (const GateRecord& gate : process_.gates) {
    writer_.insert(GateRow{process_id_, device_row(gate.device), as_signed(gate.operation), gate.time_ns,
                           gate.end_ns, gate.fetch_bytes, gate.room_bytes, gate.on_gpu});
  }
}

void ProcessIngest::write_events() {
  for (const UmEventRecord& event : process_.um_events) {
    UmEventRow row{.process_id = process_id_, .kind = event.kind, .start_ns = event.time_ns};
    row.end_ns = unless(event.end_ns, 0);
    row.address = unless(as_signed(event.address), 0);
    row.bytes = unless(event.bytes, 0);
    row.count = unless(event.count, 0);
    row.source_device_id = device_row(event.source_device);
    row.destination_device_id = device_row(event.destination_device);
    row.cause = unless(event.cause, 0);
    writer_.insert(row);
  }
  for (const SyncRecord& sync : process_.syncs) {
    if (sync.end_ns != 0 && sync.end_ns < sync.time_ns) {
      ++bad_times_[RecordKind::kSync];
      ++report_.bad_times;
      continue;
    }
    const ActivityStream stream{sync.context_id, sync.stream_id};
    const bool known = streams_.count(stream) > 0;
    writer_.insert(SyncRow{process_id_, known ? std::optional(streams_[stream]) : std::nullopt, sync.kind,
                           sync.time_ns, unless(sync.end_ns, 0), unless(sync.correlation_id, 0),
                           unless(sync.thread, 0)});
  }
  for (const MarkerRecord& marker : process_.markers) {
    writer_.insert(MarkerRow{.process_id = process_id_,
                             .thread = unless(marker.thread, 0),
                             .kind = marker.kind,
                             .start_ns = marker.time_ns,
                             .end_ns = unless(marker.end_ns, 0),
                             .name_id = names_.row(marker.name).value_or(0),
                             .domain_id = names_.row(marker.domain)});
  }
  for (const CounterRecord& sample : process_.counters) {
    if (sample.time_ns <= 0 || sample.end_ns < sample.time_ns) {
      ++bad_times_[RecordKind::kCounter];
      ++report_.bad_times;
      continue;
    }
    writer_.insert(CounterRow{device_row(sample.device), names_.row(sample.counter).value_or(0),
                              sample.time_ns, sample.end_ns, sample.value});
  }
  for (const OverheadRecord& overhead : process_.overheads) {
    writer_.insert(OverheadRow{process_id_, overhead.time_ns, overhead.end_ns,
                               names_.text(overhead.what).value_or("unknown"), unless(overhead.thread, 0)});
  }
}

void ProcessIngest::lose(const std::string& what, LossReason reason, std::optional<std::int64_t> count,
                         std::optional<std::int64_t> first_ns, std::optional<std::int64_t> last_ns,
                         const std::string& detail) {
  LossRow row{.process_id = process_id_,
              .what = what,
              .reason = std::string(loss_reason_name(reason)),
              .count = count};
  row.first_ns = first_ns;
  row.last_ns = last_ns;
  if (!detail.empty()) row.detail = detail;
  writer_.insert(row);
}

void ProcessIngest::write_losses() {
  for (const LossRecord& loss : process_.losses) {
    lose(std::string(record_kind_name(loss.what)), loss.reason, unless(loss.count, -1),
         unless(loss.time_ns, 0), unless(loss.end_ns, 0), names_.text(loss.detail).value_or(""));
  }
  for (const SpoolSummary& spool : process_.spools) write_spool_losses(spool);
  for (const auto& [kind, count] : bad_times_) {
    lose(std::string(record_kind_name(kind)), LossReason::kBadTime, count);
  }
  if (process_.unknown_records > 0) {
    lose("unknown", LossReason::kUnsupported, process_.unknown_records, {}, {}, "kinds of a newer version");
  }
  const JoinCounts& counts = join_.counts();
  report_.join.calls += counts.calls;
  report_.join.records += counts.records;
  report_.join.matched_calls += counts.matched_calls;
  report_.join.matched_records += counts.matched_records;
  report_.join.resynchronisations += counts.resynchronisations;
  // With one eye only there is nothing to join, and nothing lost by it.
  if (counts.calls == 0 || counts.records == 0) return;
  if (counts.matched_calls < counts.calls) {
    lose("call", LossReason::kNoPartner, counts.calls - counts.matched_calls, {}, {},
         "calls without an activity record");
  }
  if (const std::int64_t alone = join_.records_without_call(); alone > 0) {
    lose("activity", LossReason::kNoPartner, alone, {}, {}, "activity records without a call");
  }
}

void ProcessIngest::write_spool_losses(const SpoolSummary& spool) {
  const std::string where = spool.path.substr(spool.path.rfind('/') + 1);
  for (int kind = 0; kind < kMaxRecordKinds; ++kind) {
    const SpoolLoss& loss = spool.status.loss[kind];
    if (loss.count == 0) continue;
    lose(std::string(record_kind_name(static_cast<RecordKind>(kind))), reason_of(spool.status.state),
         loss.count, loss.first_ns, loss.last_ns, where + ": " + why_dropped(spool.status));
  }
  if (spool.damage.damaged_blocks > 0) {
    lose("block", LossReason::kDamaged, spool.damage.damaged_blocks, {}, {},
         where + ": " + std::to_string(spool.damage.skipped_bytes) + " bytes skipped");
  }
  if (spool.damage.malformed_records > 0)
    lose("record", LossReason::kMalformed, spool.damage.malformed_records, {}, {}, where);
  if (spool.unread_bytes > 0) {
    lose("record", LossReason::kDamaged, std::nullopt, spool.last_ns, {},
         where + ": ends within a block, " + std::to_string(spool.unread_bytes) + " bytes left");
  }
  if (!spool.has_status || spool.status.state == SpoolState::kRunning) {
    lose("record", LossReason::kUnknown, std::nullopt, spool.last_ns, {},
         where + ": its process ended without closing it (killed?); the last quarter second may be missing");
  }
}

}  // namespace tferry::trace
