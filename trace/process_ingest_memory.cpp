// The part of ProcessIngest that is about memory, events and losses.
#include "trace/gate_times.hpp"
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

void ProcessIngest::take_allocations() {
  for (const AllocationRecord& record : window_.allocations) {
    AllocationRow row{.id = ++report_.allocations,
                      .process_id = process_id_,
                      .device_id = device_row(record.device),
                      .allocation = as_signed(record.allocation),
                      .address = as_signed(record.address),
                      .bytes = record.bytes,
                      .reserved_bytes = record.reserved_bytes,
                      .memory_kind = record.kind,
                      .api = record.api,
                      .alloc_ns = record.time_ns};
    if (record.stream != 0) {
      row.stream_id = stream_row_of({From::kKernel, 0, record.device, record.stream, record.time_ns});
    }
    row.thread = record.thread;
    row.movable = record.movable;
    row.captured = record.captured;
    if (record.numa_node_and_one > 0) row.numa_node = record.numa_node_and_one - 1;
    const auto [place, is_new] = live_.try_emplace(record.allocation, row);
    if (is_new) continue;
    writer_.insert(place->second);  // its free was lost
    place->second = row;
  }
  window_.allocations.clear();
}

std::optional<std::int64_t> ProcessIngest::allocation_row(std::uint64_t number) const {
  if (const auto live = live_.find(number); live != live_.end()) return live->second.id;
  const auto freed = freed_.find(number);
  return freed == freed_.end() ? std::nullopt : std::optional(freed->second);
}

void ProcessIngest::write_accesses() {
  for (const OperationAccesses& accesses : window_.accesses) {
    for (const AccessEntry& entry : accesses.entries) {
      writer_.insert(AccessRow{.process_id = process_id_,
                               .operation = as_signed(accesses.operation),
                               .allocation_id = allocation_row(entry.allocation),
                               .offset = entry.offset,
                               .bytes = unless(entry.bytes, 0),
                               .kind = entry.kind,
                               .known_by = entry.known_by,
                               .argument_offset = entry.known_by == KnownBy::kArgument
                                                      ? std::optional<std::int64_t>(entry.argument_offset)
                                                      : std::nullopt});
    }
  }
  window_.accesses.clear();
}

void ProcessIngest::take_frees() {
  for (const FreeRecord& record : window_.frees) {
    const auto live = live_.find(record.allocation);
    if (live == live_.end()) {
      ++frees_alone_;
      continue;
    }
    live->second.free_ns = record.time_ns;
    writer_.insert(live->second);
    freed_[record.allocation] = live->second.id;
    live_.erase(live);
  }
  window_.frees.clear();
}

void ProcessIngest::forget_freed() {
  // Another thread's access may be recorded a little after the free, a movement is settled when its copy is.
  std::unordered_set<std::uint64_t> named;
  for (const TransferRecord& transfer : window_.transfers) named.insert(transfer.allocation);
  std::erase_if(freed_, [&](const auto& freed) {
    return freed_before_.count(freed.first) > 0 && named.count(freed.first) == 0;
  });
  freed_before_.clear();
  for (const auto& freed : freed_) freed_before_.insert(freed.first);
}

void ProcessIngest::write_live_allocations() {
  std::vector<const AllocationRow*> rows;
  for (const auto& live : live_) rows.push_back(&live.second);
  std::sort(rows.begin(), rows.end(),
            [](const AllocationRow* a, const AllocationRow* b) { return a->id < b->id; });
  for (const AllocationRow* row : rows) writer_.insert(*row);
  if (frees_alone_ > 0) lose("free", LossReason::kNoPartner, frees_alone_);
}

void ProcessIngest::write_swaps() {
  std::vector<std::optional<std::size_t>> call_of_transfer(window_.transfers.size());
  for (std::size_t i = 0; i < join_->calls().size(); ++i) {
    if (join_->calls()[i].from == From::kTransfer) call_of_transfer[join_->calls()[i].index] = i;
  }
  for (std::size_t i = 0; i < window_.transfers.size(); ++i) {
    const TransferRecord& transfer = window_.transfers[i];
    if (call_of_transfer[i] && !join_->call_settled(*call_of_transfer[i])) continue;
    SwapRow row{.process_id = process_id_, .device_id = device_row(transfer.device), .kind = transfer.kind};
    row.allocation_id = allocation_row(transfer.allocation);
    row.offset = transfer.offset;
    row.bytes = transfer.bytes;
    row.operation = unless(as_signed(transfer.operation), 0);
    row.submit_ns = transfer.time_ns;
    row.wait_ns = transfer.wait_ns;
    if (call_of_transfer[i]) {
      if (const auto copy = join_->memcpy_of_call(*call_of_transfer[i])) row.memcpy_id = memcpy_rows_[*copy];
    }
    writer_.insert(row);
  }
}

/// Those of operations whose calls are not settled wait for the next window.
void ProcessIngest::write_gates(bool last) {
  const GateTimes times(window_, *join_);
  std::vector<GateRecord> left;
  for (const GateRecord& gate : window_.gates) {
    const auto wait = times.of(gate);
    if (!wait && !last) {
      left.push_back(gate);
      continue;
    }
    writer_.insert(GateRow{process_id_, device_row(gate.device), as_signed(gate.operation),
                           wait ? wait->start_ns : gate.time_ns, wait ? wait->end_ns : gate.end_ns,
                           gate.fetch_bytes, gate.room_bytes, gate.on_gpu});
  }
  window_.gates = std::move(left);
}

void ProcessIngest::write_events() {
  for (const UmEventRecord& event : window_.um_events) {
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
  for (const SyncRecord& sync : window_.syncs) {
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
  for (const MarkerRecord& marker : window_.markers) {
    writer_.insert(MarkerRow{.process_id = process_id_,
                             .thread = unless(marker.thread, 0),
                             .kind = marker.kind,
                             .start_ns = marker.time_ns,
                             .end_ns = unless(marker.end_ns, 0),
                             .name_id = names_.row(marker.name).value_or(0),
                             .domain_id = names_.row(marker.domain)});
  }
  for (const CounterRecord& sample : window_.counters) {
    if (sample.time_ns <= 0 || sample.end_ns < sample.time_ns) {
      ++bad_times_[RecordKind::kCounter];
      ++report_.bad_times;
      continue;
    }
    writer_.insert(CounterRow{device_row(sample.device), names_.row(sample.counter).value_or(0),
                              sample.time_ns, sample.end_ns, sample.value});
  }
  for (const OverheadRecord& overhead : window_.overheads) {
    writer_.insert(OverheadRow{process_id_, overhead.time_ns, overhead.end_ns,
                               names_.text(overhead.what).value_or("unknown"), unless(overhead.thread, 0)});
  }
  window_.um_events.clear();
  window_.syncs.clear();
  window_.markers.clear();
  window_.counters.clear();
  window_.overheads.clear();
}

void ProcessIngest::write_api_calls() {
  for (const ApiCallRecord& call : window_.api_calls) {
    if (call.time_ns <= 0 || (call.end_ns != 0 && call.end_ns < call.time_ns)) {
      ++bad_times_[RecordKind::kApiCall];
      ++report_.bad_times;
      continue;
    }
    writer_.insert(ApiCallRow{.process_id = process_id_,
                              .thread = unless(call.thread, 0),
                              .name_id = names_.row(call.name).value_or(0),
                              .start_ns = call.time_ns,
                              .end_ns = unless(call.end_ns, 0),
                              .correlation_id = unless(call.correlation_id, 0),
                              .result = call.result});
  }
  window_.api_calls.clear();
}

void ProcessIngest::write_pool_operations() {
  for (const PoolOperationRecord& call : window_.pool_operations) {
    const bool has_attribute = call.kind == PoolOperationKind::kSetAttribute;
    const bool has_value = has_attribute || call.kind == PoolOperationKind::kTrim ||
                           (call.kind == PoolOperationKind::kCreate && call.value != 0);
    PoolOperationRow row{.process_id = process_id_,
                         .device_id = device_row(call.device),
                         .thread = unless(call.thread, 0),
                         .kind = call.kind,
                         .pool = as_signed(call.pool)};
    if (has_attribute) row.attribute = call.attribute;
    if (has_value) row.value = call.value;
    row.start_ns = call.time_ns;
    row.end_ns = unless(call.end_ns, 0);
    writer_.insert(row);
  }
  window_.pool_operations.clear();
}

void ProcessIngest::write_ranges() {
  for (const RangeRecord& range : process_.ranges) {
    writer_.insert(RecordedRangeRow{.process_id = process_id_,
                                    .number = as_signed(range.number),
                                    .what = names_.text(range.what).value_or("unknown"),
                                    .start_ns = range.time_ns,
                                    .end_ns = unless(range.end_ns, 0)});
  }
}

void ProcessIngest::write_nvlinks() {
  for (const NvlinkRecord& nvlink : process_.nvlinks) names_.nvlink(nvlink);
}

void ProcessIngest::drop_settled() {
  // A captured call is none that is joined, and is told by its graph's launches.
  std::vector<bool> kernel_calls(window_.kernel_calls.size()), memcpy_calls(window_.memcpy_calls.size()),
      memset_calls(window_.memset_calls.size()), graphs(window_.graph_launches.size()),
      transfers(window_.transfers.size());
  for (std::size_t i = 0; i < join_->calls().size(); ++i) {
    if (join_->call_settled(i)) continue;
    const OperationCall& call = join_->calls()[i];
    switch (call.from) {
      case From::kKernel:
        kernel_calls[call.index] = true;
        break;
      case From::kMemcpy:
        memcpy_calls[call.index] = true;
        break;
      case From::kMemset:
        memset_calls[call.index] = true;
        break;
      case From::kGraph:
        graphs[call.index] = true;
        break;
      case From::kTransfer:
        transfers[call.index] = true;
        break;
    }
  }
  const auto keep = [](auto& records, auto&& kept) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (kept(i)) records[left++] = records[i];
    }
    records.resize(left);
  };
  report_.kernel_calls += static_cast<std::int64_t>(window_.kernel_calls.size());
  keep(window_.kernel_calls, [&](std::size_t i) { return kernel_calls[i]; });
  report_.kernel_calls -= static_cast<std::int64_t>(window_.kernel_calls.size());
  keep(window_.memcpy_calls, [&](std::size_t i) { return memcpy_calls[i]; });
  keep(window_.memset_calls, [&](std::size_t i) { return memset_calls[i]; });
  keep(window_.graph_launches, [&](std::size_t i) { return graphs[i]; });
  keep(window_.transfers, [&](std::size_t i) { return transfers[i]; });
  keep(window_.kernels, [this](std::size_t i) { return !join_->kernel_settled(i); });
  keep(window_.memcpys, [this](std::size_t i) { return !join_->memcpy_settled(i); });
  keep(window_.memsets, [this](std::size_t i) { return !join_->memset_settled(i); });
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
  report_.join.calls += counts_.calls;
  report_.join.records += counts_.records;
  report_.join.matched_calls += counts_.matched_calls;
  report_.join.matched_records += counts_.matched_records;
  report_.join.resynchronisations += counts_.resynchronisations;
  // With one eye only there is nothing to join, and nothing lost by it.
  if (counts_.calls == 0 || counts_.records == 0) return;
  if (counts_.matched_calls < counts_.calls) {
    lose("call", LossReason::kNoPartner, counts_.calls - counts_.matched_calls, {}, {},
         process_.ranges.empty()
             ? "calls without an activity record"
             : "calls without an activity record: those outside of the recorded ranges, and others");
  }
  if (records_without_call_ > 0) {
    lose("activity", LossReason::kNoPartner, records_without_call_, {}, {},
         "activity records without a call");
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
