#include "collector/activity_writer.hpp"

#include "collector/loss.hpp"

#include <string>

namespace tferry::collector {
namespace {

template <typename Activity>
const Activity& as(const CUpti_Activity& activity) {
  return *static_cast<const Activity*>(static_cast<const void*>(&activity));
}

}  // namespace

template <typename Record>
void ActivityWriter::append(const Record& record) {
  spool_.append(record);
  ++written_;
}

void ActivityWriter::write(const CUpti_Activity& activity) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(activity);
      return append(decode(kernel, time_, intern(kernel.name)));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return append(decode(as<CUpti_ActivityMemcpy6>(activity), time_));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return append(decode(as<CUpti_ActivityMemcpyPtoP4>(activity), time_));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return append(decode(as<CUpti_ActivityMemset4>(activity), time_));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return append(decode(as<CUpti_ActivitySynchronization2>(activity), time_));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return write_device(as<CUpti_ActivityDevice5>(activity));
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return write_context(as<CUpti_ActivityContext3>(activity));
    case CUPTI_ACTIVITY_KIND_STREAM:
      return write_stream(as<CUpti_ActivityStream>(activity));
    case CUPTI_ACTIVITY_KIND_MARKER: {
      const auto& marker = as<CUpti_ActivityMarker2>(activity);
      const auto range = markers_.add(marker, time_, intern(marker.name), intern(marker.domain));
      if (range) append(*range);
      return;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& overhead = as<CUpti_ActivityOverhead3>(activity);
      return append(decode(overhead, time_, intern(overhead_name(overhead.overheadKind))));
    }
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: {
      const auto event = decode(as<CUpti_ActivityUnifiedMemoryCounter3>(activity), time_);
      if (event) return append(*event);
      ++unsupported_[activity.kind];
      return;
    }
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return write_api_call(as<CUpti_ActivityAPI>(activity));
    case CUPTI_ACTIVITY_KIND_NVLINK: {
      const auto nvlink = decode(as<CUpti_ActivityNvLink4>(activity), trace::SpoolWriter::now_ns());
      if (nvlink) append(*nvlink);  // one that ends at a switch or a processor joins no two GPUs
      return;
    }
    default:
      ++unsupported_[activity.kind];
  }
}

void ActivityWriter::write_api_call(const CUpti_ActivityAPI& call) {
  if (names_ == nullptr) {
    ++unsupported_[call.kind];
    return;
  }
  const auto [place, is_new] = call_names_.try_emplace({call.kind, call.cbid}, 0);
  if (is_new) {
    const auto domain =
        call.kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    const char* name = names_->callback_name(domain, call.cbid);
    place->second = spool_.intern(name != nullptr ? std::string(name) : "call " + std::to_string(call.cbid));
  }
  append(decode(call, time_, place->second));
}

void ActivityWriter::write_device(const CUpti_ActivityDevice5& device) {
  trace::DeviceRecord record = decode(device, trace::SpoolWriter::now_ns(), intern(device.name));
  // CUPTI tells of cards that CUDA_VISIBLE_DEVICES hides, under numbers that are others' here.
  if (!devices_.complete(record) && !device.isCudaVisible) return;
  append(record);
}

void ActivityWriter::write_context(const CUpti_ActivityContext3& context) {
  const std::int64_t now = trace::SpoolWriter::now_ns();
  const auto device = static_cast<std::int32_t>(context.deviceId);
  bool noted;
  {
    const std::lock_guard lock(mutex_);
    noted = noted_contexts_.contains(context.contextId);
  }
  if (!noted) append(trace::ContextRecord{now, 0, context.contextId, device});
  trace::StreamRecord null_stream;
  null_stream.time_ns = now;
  null_stream.context_id = context.contextId;
  null_stream.stream_id = context.nullStreamId;
  null_stream.device = device;
  append(null_stream);
}

void ActivityWriter::write_stream(const CUpti_ActivityStream& stream) {
  StreamName name;
  {
    // Without its handle the record would claim to be the default stream.
    const std::lock_guard lock(mutex_);
    const auto noted = noted_streams_.find({stream.contextId, stream.streamId});
    if (noted == noted_streams_.end()) return;
    name = noted->second;
    noted_streams_.erase(noted);
  }
  trace::StreamRecord record;
  record.time_ns = name.time_ns;
  record.handle = name.handle;
  record.context_id = stream.contextId;
  record.stream_id = stream.streamId;
  record.device = name.device;
  record.priority = static_cast<std::int32_t>(stream.priority);
  append(record);
}

void ActivityWriter::note_context(std::uint64_t handle, std::uint32_t context_id, std::int32_t device) {
  {
    const std::lock_guard lock(mutex_);
    noted_contexts_.insert(context_id);
  }
  spool_.append(trace::ContextRecord{trace::SpoolWriter::now_ns(), handle, context_id, device});
}

void ActivityWriter::note_stream(std::uint64_t handle, std::uint32_t context_id, std::uint32_t stream_id,
                                 std::int32_t device) {
  trace::StreamRecord record;
  record.time_ns = trace::SpoolWriter::now_ns();
  record.handle = handle;
  record.context_id = context_id;
  record.stream_id = stream_id;
  record.device = device;
  spool_.append(record);
  constexpr std::size_t kMaxNoted = 1 << 14;
  const std::lock_guard lock(mutex_);
  if (noted_streams_.size() < kMaxNoted) {
    noted_streams_[{context_id, stream_id}] = {handle, record.time_ns, device};
  }
}

void ActivityWriter::finish() {
  for (const trace::MarkerRecord& open : markers_.take_open()) append(open);
  if (markers_.lost() > 0) {
    append_loss(spool_, trace::RecordKind::kMarker, trace::LossReason::kNoPartner, markers_.lost(),
                "NVTX ranges of which CUPTI told only the start or only the end");
  }
  for (const auto& [kind, count] : unsupported_) {
    append_loss(spool_, record_kind_of(kind), trace::LossReason::kUnsupported, count,
                "CUPTI activity records of kind " + std::to_string(static_cast<int>(kind)) +
                    ", which this version cannot record");
  }
  unsupported_.clear();
}

}  // namespace tferry::collector
