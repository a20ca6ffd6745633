#include "analyzer/live/live_recording.hpp"

#include "trace/flat_plan.hpp"
#include "trace/records.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tferry::analyzer {
namespace {

using trace::OperationSignature;
using Kind = SessionRecording::Kind;

std::array<std::uint32_t, 3> extent(const trace::Dim3& dim) { return {dim.x, dim.y, dim.z}; }

}  // namespace

template <typename Call>
void LiveRecording::add_call(const Call& call, std::uint64_t identity, SessionRecording::Kind kind,
                             const std::string& name) {
  if (!device_ || call.device != *device_) return;
  RecordedOperation operation;
  operation.signature = static_cast<std::uint32_t>(identity ^ identity >> 32);
  operation.name = recording_.recording.names.intern(name);
  operation.call_ns = call.time_ns;
  operation.number = static_cast<std::int64_t>(call.operation);
  if (const auto times = early_times_.extract(call.operation)) {
    operation.start_ns = times.mapped().first;
    operation.end_ns = times.mapped().second;
  }
  operations_[call.operation] = static_cast<std::uint32_t>(recording_.recording.operations.size());
  recording_.recording.operations.push_back(operation);
  SessionRecording::Source source;
  source.kind = kind;
  source.identity = identity;
  recording_.sources.push_back(source);
}

/// The runtime's own activity records carry the operation's number as their correlation.
template <typename Activity>
void LiveRecording::add_times(const Activity& activity) {
  if (!device_ || activity.device != *device_) return;
  const auto found = operations_.find(activity.correlation_id);
  if (found == operations_.end()) {
    early_times_[activity.correlation_id] = {activity.time_ns, activity.end_ns};
    return;
  }
  RecordedOperation& operation = recording_.recording.operations[found->second];
  operation.start_ns = activity.time_ns;
  operation.end_ns = activity.end_ns;
}

void LiveRecording::add_accesses(std::uint64_t number, const trace::SpoolRecordView& record) {
  const auto operation = operations_.find(number);
  if (operation == operations_.end()) return;
  for (const trace::AccessEntry& entry : record.accesses()) {
    const auto allocation = allocations_.find(entry.allocation);
    if (allocation == allocations_.end()) {
      ++recording_.unknown_accesses;
      continue;
    }
    RecordedAllocation& memory = recording_.recording.allocations[allocation->second];
    if (entry.known_by == trace::KnownBy::kGraph) memory.stays = true;  // while the graph lives
    if (entry.known_by == trace::KnownBy::kTable) {
      memory.stays = true;
    } else {
      const bool whole = entry.offset == 0 && entry.bytes >= memory.asked();
      recording_.recording.accesses.push_back(
          {operation->second, allocation->second, access_kind(entry.kind, whole)});
    }
  }
}

void LiveRecording::add(const trace::SpoolRecordView& record) {
  recording_.process_id = recording_.device_id = 1;
  recording_.hooked = true;
  if (const auto text = record.as<trace::StringRecord>()) {
    strings_[text->id] = record.text();
  } else if (const auto device = record.as<trace::DeviceRecord>()) {
    if (!device_) device_ = device->device;
  } else if (const auto launch = record.as<trace::KernelLaunchRecord>()) {
    if (launch->captured != 0) return;
    const std::string& name = strings_[launch->name];
    add_call(*launch, OperationSignature::launch(name, extent(launch->grid), extent(launch->block)),
             Kind::kKernel, name);
  } else if (const auto copy = record.as<trace::MemcpyCallRecord>()) {
    if (copy->captured == 0) add_call(*copy, OperationSignature::copy(copy->bytes), Kind::kMemcpy, "memcpy");
  } else if (const auto set = record.as<trace::MemsetCallRecord>()) {
    if (set->captured == 0) add_call(*set, OperationSignature::memset(set->bytes), Kind::kMemset, "memset");
  } else if (const auto graph = record.as<trace::GraphLaunchRecord>()) {
    add_call(*graph, OperationSignature::graph(), Kind::kGraph, "graph launch");
  } else if (const auto made = record.as<trace::AllocationRecord>()) {
    if (!device_ || made->device != *device_ || made->kind != trace::MemoryKind::kDevice) return;
    allocations_[made->allocation] = static_cast<std::uint32_t>(recording_.recording.allocations.size());
    recording_.recording.allocations.push_back(
        {static_cast<std::int64_t>(made->allocation), std::max(made->bytes, made->reserved_bytes),
         made->time_ns, std::nullopt, made->movable != 0, made->bytes, made->captured != 0});
  } else if (const auto free = record.as<trace::FreeRecord>()) {
    if (const auto found = allocations_.find(free->allocation); found != allocations_.end())
      recording_.recording.allocations[found->second].free_ns = free->time_ns;
  } else if (const auto accesses = record.as<trace::AccessRecord>()) {
    add_accesses(accesses->operation, record);
  } else if (const auto kernel = record.as<trace::KernelActivityRecord>()) {
    add_times(*kernel);
  } else if (const auto copied = record.as<trace::MemcpyActivityRecord>()) {
    add_times(*copied);
  } else if (const auto cleared = record.as<trace::MemsetActivityRecord>()) {
    add_times(*cleared);
  } else if (const auto gate = record.as<trace::GateRecord>()) {
    if (const auto found = operations_.find(gate->operation); found != operations_.end())
      recording_.recording.operations[found->second].gated = true;
  } else if (const auto moved = record.as<trace::TransferRecord>()) {
    if (!device_ || moved->device != *device_) return;
    (moved->kind == trace::TransferKind::kPark ? bytes_out_ : bytes_in_) += moved->bytes;
    const auto number = static_cast<std::int64_t>(moved->operation);
    if (!moves_.empty() && moves_.back().first >= number) {
      moves_.back().second += moved->bytes;
    } else {
      moves_.emplace_back(number, moved->bytes);
    }
  }
}

std::int64_t LiveRecording::moved_between(std::int64_t begin, std::int64_t end) const {
  const auto before = [](const auto& move, std::int64_t number) { return move.first < number; };
  std::int64_t bytes = 0;
  for (auto move = std::lower_bound(moves_.begin(), moves_.end(), begin, before);
       move != moves_.end() && move->first < end; ++move)
    bytes += move->second;
  return bytes;
}

}  // namespace tferry::analyzer
