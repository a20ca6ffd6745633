#include "trace/gate_times.hpp"

#include <algorithm>

namespace tferry::trace {
namespace {

using From = OperationCall::From;

/// Its number; 0: the runtime's own.
std::uint64_t operation_of(const RecordWindow& window, const OperationCall& call) {
  switch (call.from) {
    case From::kKernel:
      return window.kernel_calls[call.index].operation;
    case From::kMemcpy:
      return window.memcpy_calls[call.index].operation;
    case From::kMemset:
      return window.memset_calls[call.index].operation;
    case From::kGraph:
      return window.graph_launches[call.index].operation;
    case From::kTransfer:
      break;
  }
  return 0;
}

}  // namespace

GateTimes::GateTimes(const RecordWindow& window, const OperationJoin& join) {
  if (window.gates.empty()) return;
  find_operations(window, join);
  find_times(window.kernels, window, [&](std::size_t i) { return join.call_of_kernel(i); });
  find_times(window.memcpys, window, [&](std::size_t i) { return join.call_of_memcpy(i); });
  find_times(window.memsets, window, [&](std::size_t i) { return join.call_of_memset(i); });
  for (auto& [stream, spans] : busy_) {
    std::sort(spans.begin(), spans.end());
    std::int64_t until = 0;
    for (auto& [start, end] : spans) end = until = std::max(until, end);
  }
}

void GateTimes::find_operations(const RecordWindow& window, const OperationJoin& join) {
  for (const GateRecord& gate : window.gates) operations_.try_emplace(gate.operation);
  for (auto& [operation, ran] : operations_) ran.settled = true;  // unless a call says otherwise
  for (std::size_t i = 0; i < join.calls().size(); ++i) {
    const auto found = operations_.find(operation_of(window, join.calls()[i]));
    if (found != operations_.end()) found->second.settled = join.call_settled(i);
  }
}

template <typename Activity, typename CallOf>
void GateTimes::find_times(const std::vector<Activity>& records, const RecordWindow& window, CallOf call_of) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Activity& record = records[i];
    if (record.time_ns <= 0 || record.end_ns < record.time_ns) continue;
    const ActivityStream stream{record.context_id, record.stream_id};
    busy_[stream].emplace_back(record.time_ns, record.end_ns);
    const OperationCall* call = call_of(i);
    const auto found = call == nullptr ? operations_.end() : operations_.find(operation_of(window, *call));
    if (found == operations_.end()) continue;
    Ran& ran = found->second;
    if (ran.start_ns != 0 && ran.start_ns <= record.time_ns) continue;  // the first of a graph's
    ran.start_ns = record.time_ns;
    ran.stream = stream;
  }
}

std::optional<GateTimes::Wait> GateTimes::of(const GateRecord& gate) const {
  const Wait recorded{gate.time_ns, gate.end_ns};
  const auto found = operations_.find(gate.operation);
  if (found == operations_.end()) return recorded;
  const Ran& ran = found->second;
  if (!ran.settled) return std::nullopt;
  if (gate.on_gpu == 0 || ran.start_ns == 0 || ran.start_ns <= gate.time_ns) return recorded;
  return Wait{std::clamp(busy_until(ran.stream, ran.start_ns), gate.time_ns, ran.start_ns), ran.start_ns};
}

/// The end of all in the stream that began before.
std::int64_t GateTimes::busy_until(ActivityStream stream, std::int64_t before_ns) const {
  const auto& spans = busy_.at(stream);
  const auto after = std::lower_bound(spans.begin(), spans.end(), std::pair(before_ns, std::int64_t{0}));
  return after == spans.begin() ? 0 : std::prev(after)->second;
}

}  // namespace tferry::trace
