#include "trace/operation_join.hpp"

#include <algorithm>
#include <utility>

namespace tferry::trace {
namespace {

constexpr std::size_t kSample = 2000;       // calls and records that decide about a stream
constexpr std::size_t kFewest = 100;        // of both, while more may come
constexpr std::uint64_t kNoStream = ~0ull;  // of a call whose handle means nothing known

std::uint64_t number(ActivityStream stream) {
  return std::uint64_t{stream.context_id} << 32 | stream.stream_id;
}

ActivityStream stream_of_number(std::uint64_t number) {
  return {static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(number)};
}

}  // namespace

KnownStreams::KnownStreams(const RecordedProcess& process)
    : map_(process.streams), runtime_handles_(process.transfer_streams), ranges_(process.ranges) {
  for (const StreamRecord& record : process.streams) {
    if (record.owner == StreamOwner::kRuntime) runtime_handles_.insert(record.handle);
  }
  for (const StreamRecord& record : process.streams) {
    if (record.stream_id == 0 || runtime_handles_.count(record.handle) == 0) continue;
    owners_[{record.context_id, record.stream_id}] = StreamOwner::kRuntime;
  }
}

StreamOwner KnownStreams::owner(ActivityStream stream) const {
  const auto place = owners_.find(stream);
  return place == owners_.end() ? StreamOwner::kProgram : place->second;
}

bool KnownStreams::recorded(std::int64_t time_ns) const {
  return ranges_.empty() || std::any_of(ranges_.begin(), ranges_.end(), [time_ns](const RangeRecord& range) {
           return time_ns >= range.time_ns && (range.end_ns == 0 || time_ns <= range.end_ns);
         });
}

void KnownStreams::name(const OperationCall& call, ActivityStream stream) {
  named_.insert(stream);
  if (runtime_handles_.count(call.handle) > 0) owners_[stream] = StreamOwner::kRuntime;
}

void KnownStreams::assume(std::uint64_t handle, std::int32_t device, ActivityStream stream) {
  map_.assume(handle, device, stream);
  named_.insert(stream);
}

OperationJoin::OperationJoin(const RecordWindow& window, KnownStreams& streams, bool last)
    : window_(window), streams_(streams) {
  collect_calls();
  collect_records();
  infer_streams(last);
  set_streams();
  JoinOptions options;
  options.last = last;
  joined_ = join(join_calls_, join_records_, options);
}

void OperationJoin::add_call(const OperationCall& call, std::uint64_t sequence, const OperationShape& shape) {
  calls_.push_back(call);
  join_calls_.push_back({kNoStream, sequence, call.time_ns, shape});
}

void OperationJoin::collect_calls() {
  using From = OperationCall::From;
  for (std::size_t i = 0; i < window_.kernel_calls.size(); ++i) {
    const KernelLaunchRecord& call = window_.kernel_calls[i];
    if (call.captured != 0) continue;
    add_call({From::kKernel, i, call.device, call.stream, call.time_ns}, call.sequence,
             {.name = call.name, .grid = call.grid, .block = call.block});
  }
  for (std::size_t i = 0; i < window_.memcpy_calls.size(); ++i) {
    const MemcpyCallRecord& call = window_.memcpy_calls[i];
    if (call.captured != 0) continue;
    add_call({From::kMemcpy, i, call.device, call.stream, call.time_ns}, call.sequence,
             {.kind = OperationKind::kMemcpy, .copy = call.kind, .bytes = call.bytes});
  }
  for (std::size_t i = 0; i < window_.memset_calls.size(); ++i) {
    const MemsetCallRecord& call = window_.memset_calls[i];
    if (call.captured != 0) continue;
    add_call({From::kMemset, i, call.device, call.stream, call.time_ns}, call.sequence,
             {.kind = OperationKind::kMemset, .bytes = call.bytes});
  }
  for (std::size_t i = 0; i < window_.graph_launches.size(); ++i) {
    const GraphLaunchRecord& call = window_.graph_launches[i];
    add_call({From::kGraph, i, call.device, call.stream, call.time_ns}, call.sequence,
             {.kind = OperationKind::kGraph});
  }
  for (std::size_t i = 0; i < window_.transfers.size(); ++i) {
    const TransferRecord& transfer = window_.transfers[i];
    if (transfer.kind != TransferKind::kPark && transfer.kind != TransferKind::kFetch) continue;
    const CopyKind copy =
        transfer.kind == TransferKind::kPark ? CopyKind::kDeviceToHost : CopyKind::kHostToDevice;
    add_call({From::kTransfer, i, transfer.device, transfer.stream, transfer.time_ns}, transfer.sequence,
             {.kind = OperationKind::kMemcpy, .copy = copy, .bytes = transfer.bytes});
  }
}

template <typename Activity>
void OperationJoin::add_record(const Activity& activity, const OperationShape& shape) {
  const ActivityStream stream{activity.context_id, activity.stream_id};
  device_of_stream_.try_emplace(stream, activity.device);
  const bool alone = streams_.owner(stream) == StreamOwner::kRuntime;
  join_records_.push_back(
      {number(stream), activity.correlation_id, activity.graph_id, alone, activity.time_ns, shape});
}

void OperationJoin::collect_records() {
  for (const KernelActivityRecord& kernel : window_.kernels) {
    add_record(kernel, {.name = kernel.name, .grid = kernel.grid, .block = kernel.block});
  }
  first_memcpy_ = join_records_.size();
  for (const MemcpyActivityRecord& copy : window_.memcpys) {
    add_record(copy, {.kind = OperationKind::kMemcpy, .copy = copy.kind, .bytes = copy.bytes});
  }
  first_memset_ = join_records_.size();
  for (const MemsetActivityRecord& set : window_.memsets) {
    add_record(set, {.kind = OperationKind::kMemset, .bytes = set.bytes});
  }
}

void OperationJoin::infer_streams(bool last) {
  std::map<std::pair<std::uint64_t, std::int32_t>, std::vector<JoinCall>> unnamed;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].from == OperationCall::From::kGraph || !streams_.recorded(calls_[i].time_ns)) continue;
    if (const auto stream = streams_.stream_of(calls_[i])) {
      streams_.name(calls_[i], *stream);
    } else {
      unnamed[{calls_[i].handle, calls_[i].device}].push_back(join_calls_[i]);
    }
  }
  if (unnamed.empty()) return;
  std::map<std::uint64_t, std::vector<JoinRecord>> records;
  for (const JoinRecord& record : join_records_) {
    if (record.graph_id == 0) records[record.stream].push_back(record);
  }
  const auto keep_first = [](auto& items, auto order) {
    std::stable_sort(items.begin(), items.end(),
                     [&](const auto& a, const auto& b) { return order(a) < order(b); });
    if (items.size() > kSample) items.resize(kSample);
    for (auto& item : items) item.stream = 0;
  };
  for (auto& [stream, items] : records)
    keep_first(items, [](const JoinRecord& r) { return r.correlation_id; });
  for (auto& [handle, items] : unnamed) {
    keep_first(items, [](const JoinCall& c) { return c.sequence; });
    std::int64_t best = 0;
    std::optional<ActivityStream> chosen;
    for (const auto& [stream, device] : device_of_stream_) {
      const auto& candidates = records[number(stream)];
      if (streams_.named(stream) || candidates.empty()) continue;
      if (!last && std::min(items.size(), candidates.size()) < kFewest) continue;
      if (handle.second >= 0 && device >= 0 && handle.second != device) continue;
      const std::int64_t fits = join(items, candidates).counts.matched_calls;
      const auto shorter = static_cast<std::int64_t>(std::min(items.size(), candidates.size()));
      if (fits > best && 2 * fits > shorter) {
        best = fits;
        chosen = stream;
      }
    }
    if (chosen) streams_.assume(handle.first, handle.second, *chosen);
  }
}

void OperationJoin::set_streams() {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const auto stream = streams_.stream_of(calls_[i]);
    // In a range iterations look alike, so that calls before it would fit as well.
    if (!stream || !streams_.recorded(calls_[i].time_ns)) continue;
    join_calls_[i].stream = number(*stream);
    streams_.name(calls_[i], *stream);
  }
}

std::int64_t OperationJoin::calls_outside() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < calls_.size(); ++i)
    count += joined_.call_settled[i] && !streams_.recorded(calls_[i].time_ns) ? 1 : 0;
  return count;
}

std::int64_t OperationJoin::records_without_call() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < join_records_.size(); ++i) {
    count += joined_.record_settled[i] && joined_.call_of_record[i] < 0 &&
             streams_.owner(stream_of_number(join_records_[i].stream)) != StreamOwner::kRuntime;
  }
  return count;
}

std::optional<std::size_t> OperationJoin::memcpy_of_call(std::size_t call) const {
  const std::int64_t record = joined_.record_of_call[call];
  if (record < static_cast<std::int64_t>(first_memcpy_) ||
      record >= static_cast<std::int64_t>(first_memset_)) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(record) - first_memcpy_;
}

std::optional<std::int64_t> OperationJoin::correlation_of_call(std::size_t call) const {
  const std::int64_t record = joined_.record_of_call[call];
  if (record < 0) return std::nullopt;
  return join_records_[static_cast<std::size_t>(record)].correlation_id;
}

}  // namespace tferry::trace
