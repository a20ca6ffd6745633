#include "trace/process_ingest.hpp"

#include <algorithm>

namespace tferry::trace {
namespace {

std::optional<std::int64_t> unless(std::int64_t value, std::int64_t unknown) {
  return value == unknown ? std::nullopt : std::optional(value);
}

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

/// Indexes of settled records by time, so that rows of a table lie in the order in which they are read.
template <typename Record, typename Settled>
std::vector<std::size_t> by_time(const std::vector<Record>& records, Settled&& settled) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (settled(i)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return records[a].time_ns < records[b].time_ns; });
  return order;
}

void set_shape(KernelRow& row, const Dim3& grid, const Dim3& block) {
  row.grid_x = grid.x;
  row.grid_y = grid.y;
  row.grid_z = grid.z;
  row.block_x = block.x;
  row.block_y = block.y;
  row.block_z = block.z;
}

}  // namespace

ProcessIngest::ProcessIngest(const RecordedProcess& process, IngestNames& names, SessionWriter& writer,
                             IngestReport& report)
    : process_(process), names_(names), writer_(writer), report_(report), known_streams_(process) {}

void ProcessIngest::write(std::int64_t window_bytes) {
  write_process();
  write_devices();
  write_streams();
  // With one side only there is nothing to wait for.
  const bool both = process_.has(SpoolSource::kRuntime) && process_.has(SpoolSource::kCollector);
  WindowReader reader(process_, window_bytes);
  while (reader.next(window_)) write_window(reader.at_end() || !both);
  write_live_allocations();
  write_ranges();
  write_nvlinks();
  write_losses();
}

void ProcessIngest::write_window(bool last) {
  const OperationJoin join(window_, known_streams_, last);
  join_ = &join;
  take_allocations();
  write_accesses();
  take_frees();
  write_kernels();
  write_memcpys();
  write_memsets();
  write_graph_launches();
  write_swaps();
  write_gates(last);
  write_events();
  write_api_calls();
  write_pool_operations();
  const JoinCounts& counts = join.counts();
  counts_.calls += counts.calls - join.calls_outside();
  counts_.records += counts.records;
  counts_.matched_calls += counts.matched_calls;
  counts_.matched_records += counts.matched_records;
  counts_.resynchronisations += counts.resynchronisations;
  records_without_call_ += join.records_without_call();
  drop_settled();
  forget_freed();
  join_ = nullptr;
}

void ProcessIngest::write_process() {
  ProcessRow row{.pid = process_.pid};
  for (const SpoolSummary& spool : process_.spools) {
    if (!row.start_ns || spool.header.start_monotonic_ns < *row.start_ns) {
      row.start_ns = spool.header.start_monotonic_ns;
      row.start_realtime_ns = spool.header.start_realtime_ns;
      row.clock_error_ns = spool.header.clock_error_ns;
    }
    if (spool.last_ns > row.end_ns.value_or(0)) row.end_ns = spool.last_ns;
  }
  for (const ProcessRecord& record : process_.processes) {
    if (record.parent_pid > 0) row.parent_pid = record.parent_pid;
    if (record.rank >= 0) row.rank = record.rank;
    if (record.local_rank >= 0) row.local_rank = record.local_rank;
    if (record.world_size > 0) row.world_size = record.world_size;
    if (record.driver_version > 0) row.driver_version = record.driver_version;
    if (record.host != 0) row.host = names_.text(record.host);
    if (record.command != 0) row.command = names_.text(record.command);
  }
  process_id_ = writer_.insert(row);
}

void ProcessIngest::write_devices() {
  // Hooks, CUPTI and sampler know different things about a card.
  std::map<std::int32_t, DeviceRecord> cards;
  for (const DeviceRecord& record : process_.devices) {
    const auto [place, is_new] = cards.try_emplace(record.device, record);
    if (!is_new) place->second = merge(place->second, record);
  }
  for (const auto& [ordinal, card] : cards) {
    devices_[ordinal] = names_.device(card);
    writer_.insert(ProcessDeviceRow{process_id_, ordinal, devices_[ordinal]});
  }
}

std::optional<std::int64_t> ProcessIngest::device_row(std::int32_t ordinal) const {
  const auto place = devices_.find(ordinal);
  return place == devices_.end() ? std::nullopt : std::optional(place->second);
}

void ProcessIngest::write_streams() {
  // The callback that ties a handle to a stream comes before the record that knows its priority.
  std::map<ActivityStream, std::int32_t> priorities;
  for (const StreamRecord& record : process_.streams) {
    if (record.priority != 0) priorities[{record.context_id, record.stream_id}] = record.priority;
  }
  for (const StreamRecord& record : process_.streams) {
    const ActivityStream stream{record.context_id, record.stream_id};
    if (stream == ActivityStream{}) continue;
    const auto [place, is_new] = streams_.try_emplace(stream);
    if (!is_new) continue;
    place->second = writer_.insert(StreamRow{.process_id = process_id_,
                                             .device_id = device_row(record.device),
                                             .context_id = record.context_id,
                                             .cupti_stream_id = record.stream_id,
                                             .handle = as_signed(record.handle),
                                             .priority = priorities[stream],
                                             .owner = known_streams_.owner(stream)});
  }
}

std::int64_t ProcessIngest::stream_row(ActivityStream stream, std::int32_t device, std::uint64_t handle) {
  const auto [place, is_new] = streams_.try_emplace(stream);
  if (is_new) {
    place->second = writer_.insert(StreamRow{.process_id = process_id_,
                                             .device_id = device_row(device),
                                             .context_id = stream.context_id,
                                             .cupti_stream_id = stream.stream_id,
                                             .handle = unless(as_signed(handle), 0),
                                             .owner = known_streams_.owner(stream)});
  }
  return place->second;
}

std::optional<std::int64_t> ProcessIngest::stream_row_of(const OperationCall& call) {
  if (const auto stream = known_streams_.stream_of(call))
    return stream_row(*stream, call.device, call.handle);
  const auto [place, is_new] = call_streams_.try_emplace(call.handle);
  if (is_new) {
    const auto owner = call.from == From::kTransfer ? StreamOwner::kRuntime : StreamOwner::kProgram;
    place->second = writer_.insert(StreamRow{.process_id = process_id_,
                                             .device_id = device_row(call.device),
                                             .handle = as_signed(call.handle),
                                             .owner = owner});
  }
  return place->second;
}

template <typename Row, typename Activity>
void ProcessIngest::set_times(Row& row, const Activity& activity, RecordKind kind) {
  if (activity.time_ns <= 0 || (activity.end_ns != 0 && activity.end_ns < activity.time_ns)) {
    ++bad_times_[kind];
    ++report_.bad_times;
    return;
  }
  row.start_ns = activity.time_ns;
  row.end_ns = unless(activity.end_ns, 0);
}

template <typename Row>
void ProcessIngest::set_call(Row& row, const OperationCall& call) {
  const auto fill = [&](const auto& record) {
    row.operation = as_signed(record.operation);
    row.call_ns = record.time_ns;
    row.return_ns = record.return_ns;
    row.wait_ns = record.wait_ns;
    row.thread = record.thread;
  };
  switch (call.from) {
    case From::kKernel:
      return fill(window_.kernel_calls[call.index]);
    case From::kMemcpy:
      return fill(window_.memcpy_calls[call.index]);
    case From::kMemset:
      return fill(window_.memset_calls[call.index]);
    case From::kGraph:
      return fill(window_.graph_launches[call.index]);
    case From::kTransfer:
      break;
  }
  const TransferRecord& transfer = window_.transfers[call.index];
  row.operation = unless(as_signed(transfer.operation), 0);
  row.call_ns = transfer.time_ns;
  row.wait_ns = transfer.wait_ns;
  row.owner = StreamOwner::kRuntime;
}

template <typename Row, typename Activity>
void ProcessIngest::set_activity(Row& row, const Activity& activity, RecordKind kind) {
  const ActivityStream stream{activity.context_id, activity.stream_id};
  row.process_id = process_id_;
  row.device_id = device_row(activity.device);
  row.stream_id = stream_row(stream, activity.device, 0);
  row.owner = known_streams_.owner(stream);
  row.correlation_id = activity.correlation_id;
  row.graph_id = unless(activity.graph_id, 0);
  row.graph_node_id = unless(as_signed(activity.graph_node_id), 0);
  set_times(row, activity, kind);
}

template <typename Write>
void ProcessIngest::for_each_unmatched(From from, Write&& write) {
  for (std::size_t i = 0; i < join_->calls().size(); ++i) {
    const OperationCall& call = join_->calls()[i];
    if (call.from == from && join_->call_settled(i) && !join_->call_has_record(i)) write(call);
  }
}

void ProcessIngest::write_kernels() {
  for (const std::size_t index :
       by_time(window_.kernels, [this](std::size_t i) { return join_->kernel_settled(i); })) {
    const KernelActivityRecord& kernel = window_.kernels[index];
    KernelRow row;
    set_activity(row, kernel, RecordKind::kKernelActivity);
    row.name_id = names_.row(kernel.name);
    set_shape(row, kernel.grid, kernel.block);
    row.registers = kernel.registers;
    row.static_shared_bytes = kernel.static_shared_bytes;
    row.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    ++report_.kernels;
    if (const OperationCall* call = join_->call_of_kernel(index)) set_call(row, *call);
    writer_.insert(row);
  }
  for_each_unmatched(From::kKernel, [&](const OperationCall& call) {
    const KernelLaunchRecord& launch = window_.kernel_calls[call.index];
    KernelRow row{
        .process_id = process_id_, .device_id = device_row(call.device), .stream_id = stream_row_of(call)};
    row.name_id = names_.row(launch.name);
    set_shape(row, launch.grid, launch.block);
    row.dynamic_shared_bytes = launch.shared_bytes;
    row.owner = StreamOwner::kProgram;
    set_call(row, call);
    writer_.insert(row);
  });
}

void ProcessIngest::write_memcpys() {
  const auto set_addresses = [&](MemcpyRow& row, const OperationCall& call) {
    if (call.from != From::kMemcpy) return;
    const MemcpyCallRecord& record = window_.memcpy_calls[call.index];
    row.source_address = as_signed(record.source);
    row.destination_address = as_signed(record.destination);
  };
  memcpy_rows_.assign(window_.memcpys.size(), 0);
  for (const std::size_t index :
       by_time(window_.memcpys, [this](std::size_t i) { return join_->memcpy_settled(i); })) {
    const MemcpyActivityRecord& copy = window_.memcpys[index];
    MemcpyRow row;
    set_activity(row, copy, RecordKind::kMemcpyActivity);
    row.bytes = copy.bytes;
    row.kind = copy.kind;
    row.source_kind = copy.source_kind;
    row.destination_kind = copy.destination_kind;
    row.source_device_id = device_row(copy.source_device);
    row.destination_device_id = device_row(copy.destination_device);
    row.asynchronous = copy.asynchronous;
    row.channel = copy.channel;
    if (const OperationCall* call = join_->call_of_memcpy(index)) {
      set_call(row, *call);
      set_addresses(row, *call);
    }
    memcpy_rows_[index] = writer_.insert(row);
  }
  for_each_unmatched(From::kMemcpy, [&](const OperationCall& call) {
    const MemcpyCallRecord& record = window_.memcpy_calls[call.index];
    MemcpyRow row{
        .process_id = process_id_, .device_id = device_row(call.device), .stream_id = stream_row_of(call)};
    row.bytes = record.bytes;
    row.kind = record.kind;
    row.asynchronous = record.asynchronous;
    row.owner = StreamOwner::kProgram;
    set_call(row, call);
    set_addresses(row, call);
    writer_.insert(row);
  });
}

void ProcessIngest::write_memsets() {
  for (const std::size_t index :
       by_time(window_.memsets, [this](std::size_t i) { return join_->memset_settled(i); })) {
    const MemsetActivityRecord& set = window_.memsets[index];
    MemsetRow row;
    set_activity(row, set, RecordKind::kMemsetActivity);
    row.bytes = set.bytes;
    row.value = set.value;
    row.memory_kind = set.kind;
    if (const OperationCall* call = join_->call_of_memset(index)) {
      set_call(row, *call);
      if (call->from == From::kMemset) row.address = as_signed(window_.memset_calls[call->index].address);
    }
    writer_.insert(row);
  }
  for_each_unmatched(From::kMemset, [&](const OperationCall& call) {
    const MemsetCallRecord& record = window_.memset_calls[call.index];
    MemsetRow row{
        .process_id = process_id_, .device_id = device_row(call.device), .stream_id = stream_row_of(call)};
    row.bytes = record.bytes;
    row.value = record.value;
    row.address = as_signed(record.address);
    row.owner = StreamOwner::kProgram;
    set_call(row, call);
    writer_.insert(row);
  });
}

void ProcessIngest::write_graph_launches() {
  for (std::size_t i = 0; i < join_->calls().size(); ++i) {
    const OperationCall& call = join_->calls()[i];
    if (call.from != From::kGraph || !join_->call_settled(i)) continue;
    const GraphLaunchRecord& launch = window_.graph_launches[call.index];
    writer_.insert(GraphLaunchRow{.process_id = process_id_,
                                  .device_id = device_row(call.device),
                                  .stream_id = stream_row_of(call),
                                  .graph = as_signed(launch.graph),
                                  .correlation_id = join_->correlation_of_call(i),
                                  .operation = as_signed(launch.operation),
                                  .call_ns = launch.time_ns,
                                  .return_ns = launch.return_ns,
                                  .wait_ns = launch.wait_ns,
                                  .thread = launch.thread});
  }
}

}  // namespace tferry::trace
