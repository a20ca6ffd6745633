#include "collector/decode.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tferry::collector {
namespace {

std::uint32_t unless_invalid(std::uint32_t id) { return id == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : id; }

std::uint32_t dimension(std::int32_t value) { return value < 0 ? 0 : static_cast<std::uint32_t>(value); }

std::int64_t bytes(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

std::int32_t device(std::uint32_t id) { return static_cast<std::int32_t>(id); }

trace::SyncKind sync_kind(CUpti_ActivitySynchronizationType type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return trace::SyncKind::kEvent;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return trace::SyncKind::kStreamWaitEvent;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return trace::SyncKind::kStream;
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return trace::SyncKind::kContext;
    default:
      return trace::SyncKind::kUnknown;
  }
}

template <typename Record, typename Activity>
Record decode_operation(const Activity& activity, TimeBase time) {
  Record record;
  record.time_ns = time.convert(activity.start);
  record.end_ns = time.convert(activity.end);
  record.graph_node_id = activity.graphNodeId;
  record.graph_id = activity.graphId;
  record.correlation_id = activity.correlationId;
  record.context_id = activity.contextId;
  record.stream_id = activity.streamId;
  record.device = device(activity.deviceId);
  return record;
}

template <typename Activity>
trace::MemcpyActivityRecord decode_memcpy(const Activity& copy, TimeBase time) {
  auto record = decode_operation<trace::MemcpyActivityRecord>(copy, time);
  record.bytes = bytes(copy.bytes);
  record.channel = copy.channelID == CUPTI_INVALID_CHANNEL_ID ? 0 : copy.channelID;
  record.kind = copy_kind(copy.copyKind);
  record.source_kind = memory_kind(copy.srcKind);
  record.destination_kind = memory_kind(copy.dstKind);
  record.asynchronous = (copy.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
  return record;
}

}  // namespace

std::int64_t TimeBase::convert(std::uint64_t cupti_ns) const noexcept {
  if (cupti_ns == 0 || cupti_ns > std::uint64_t{1} << 62) return 0;
  return static_cast<std::int64_t>(cupti_ns) + offset_ns;
}

trace::CopyKind copy_kind(std::uint8_t cupti_kind) {
  switch (cupti_kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return trace::CopyKind::kHostToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return trace::CopyKind::kDeviceToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return trace::CopyKind::kDeviceToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return trace::CopyKind::kHostToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return trace::CopyKind::kPeer;
    default:
      return trace::CopyKind::kUnknown;
  }
}

trace::MemoryKind memory_kind(std::uint16_t cupti_kind) {
  switch (cupti_kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return trace::MemoryKind::kPageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return trace::MemoryKind::kPinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return trace::MemoryKind::kDevice;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return trace::MemoryKind::kManaged;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return trace::MemoryKind::kArray;
    default:
      return trace::MemoryKind::kUnknown;
  }
}

const char* overhead_name(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "driver compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "CUPTI resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "module loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "lazy function loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "command buffer full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "CUPTI buffer request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
      return "unified memory tracing";
    default:
      return "unknown overhead";
  }
}

trace::KernelActivityRecord decode(const CUpti_ActivityKernel10& kernel, TimeBase time,
                                   trace::StringId name) {
  auto record = decode_operation<trace::KernelActivityRecord>(kernel, time);
  record.name = name;
  record.grid = {dimension(kernel.gridX), dimension(kernel.gridY), dimension(kernel.gridZ)};
  record.block = {dimension(kernel.blockX), dimension(kernel.blockY), dimension(kernel.blockZ)};
  record.registers = kernel.registersPerThread;
  record.static_shared_bytes = dimension(kernel.staticSharedMemory);
  record.dynamic_shared_bytes = dimension(kernel.dynamicSharedMemory);
  return record;
}

trace::MemcpyActivityRecord decode(const CUpti_ActivityMemcpy6& copy, TimeBase time) {
  return decode_memcpy(copy, time);
}

trace::MemcpyActivityRecord decode(const CUpti_ActivityMemcpyPtoP4& copy, TimeBase time) {
  auto record = decode_memcpy(copy, time);
  record.kind = trace::CopyKind::kPeer;
  record.source_device = device(copy.srcDeviceId);
  record.destination_device = device(copy.dstDeviceId);
  return record;
}

trace::MemsetActivityRecord decode(const CUpti_ActivityMemset4& set, TimeBase time) {
  auto record = decode_operation<trace::MemsetActivityRecord>(set, time);
  record.bytes = bytes(set.bytes);
  record.value = set.value;
  record.kind = memory_kind(set.memoryKind);
  return record;
}

trace::SyncRecord decode(const CUpti_ActivitySynchronization2& sync, TimeBase time) {
  trace::SyncRecord record;
  record.time_ns = time.convert(sync.start);
  record.end_ns = time.convert(sync.end);
  record.context_id = sync.contextId;
  record.stream_id = unless_invalid(sync.streamId);
  record.correlation_id = sync.correlationId;
  record.event = unless_invalid(sync.cudaEventId);
  record.kind = sync_kind(sync.type);
  return record;
}

trace::DeviceRecord decode(const CUpti_ActivityDevice5& card, std::int64_t now_ns, trace::StringId name) {
  trace::DeviceRecord record;
  record.time_ns = now_ns;
  record.device = device(card.id);
  static_assert(sizeof record.uuid == sizeof card.uuid.bytes);
  for (std::size_t i = 0; i < sizeof record.uuid; ++i) {
    record.uuid[i] = static_cast<std::uint8_t>(card.uuid.bytes[i]);
  }
  record.memory_bytes = bytes(card.globalMemorySize);
  record.name = name;
  record.multiprocessors = static_cast<std::int32_t>(card.numMultiprocessors);
  record.compute_major = static_cast<std::int32_t>(card.computeCapabilityMajor);
  record.compute_minor = static_cast<std::int32_t>(card.computeCapabilityMinor);
  record.copy_engines = static_cast<std::int32_t>(card.numMemcpyEngines);
  return record;
}

trace::OverheadRecord decode(const CUpti_ActivityOverhead3& overhead, TimeBase time, trace::StringId what) {
  trace::OverheadRecord record;
  record.time_ns = time.convert(overhead.start);
  record.end_ns = time.convert(overhead.end);
  record.what = what;
  if (overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) record.thread = overhead.objectId.pt.threadId;
  return record;
}

std::optional<trace::UmEventRecord> decode(const CUpti_ActivityUnifiedMemoryCounter3& counter,
                                           TimeBase time) {
  trace::UmEventRecord record;
  record.time_ns = time.convert(counter.start);
  record.end_ns = time.convert(counter.end);
  record.address = counter.address;
  switch (counter.counterKind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      record.kind = trace::UmEventKind::kMigrationToDevice;
      record.destination_device = device(counter.dstId);
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      record.kind = trace::UmEventKind::kMigrationToHost;
      record.source_device = device(counter.srcId);
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
      record.kind = trace::UmEventKind::kMigrationPeer;
      record.source_device = device(counter.srcId);
      record.destination_device = device(counter.dstId);
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
      // `value` is an address of code here, and there is no end.
      record.kind = trace::UmEventKind::kCpuFault;
      record.end_ns = record.time_ns;
      record.count = 1;
      record.cause = counter.flags;  // how it was accessed, as below, where CUPTI tells
      return record;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
      record.kind = trace::UmEventKind::kGpuFault;
      record.source_device = device(counter.srcId);
      record.count = bytes(counter.value);
      record.cause = counter.flags;  // how it was accessed: 1 read, 2 write, 3 atomic, 4 prefetch
      return record;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING:
      record.kind = trace::UmEventKind::kThrashing;
      record.end_ns = record.time_ns;
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING:
      record.kind = trace::UmEventKind::kThrottling;
      record.source_device = device(counter.srcId);
      return record;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP:
      record.kind = trace::UmEventKind::kRemoteMap;
      record.end_ns = record.time_ns;
      record.source_device = device(counter.srcId);
      record.destination_device = device(counter.dstId);
      break;
    default:
      return std::nullopt;
  }
  record.bytes = bytes(counter.value);
  if (record.kind != trace::UmEventKind::kThrashing) record.cause = counter.flags;
  return record;
}

trace::ApiCallRecord decode(const CUpti_ActivityAPI& call, TimeBase time, trace::StringId name) {
  trace::ApiCallRecord record;
  record.time_ns = time.convert(call.start);
  record.end_ns = time.convert(call.end);
  record.name = name;
  record.correlation_id = call.correlationId;
  record.thread = call.threadId;
  record.result = call.returnValue;
  return record;
}

std::optional<trace::NvlinkRecord> decode(const CUpti_ActivityNvLink4& nvlink, std::int64_t now_ns) {
  if (nvlink.typeDev0 != CUPTI_DEV_TYPE_GPU || nvlink.typeDev1 != CUPTI_DEV_TYPE_GPU) return std::nullopt;
  trace::NvlinkRecord record;
  record.time_ns = now_ns;
  static_assert(sizeof record.first_uuid == sizeof nvlink.idDev0.uuidDev.bytes);
  std::memcpy(record.first_uuid, nvlink.idDev0.uuidDev.bytes, sizeof record.first_uuid);
  std::memcpy(record.second_uuid, nvlink.idDev1.uuidDev.bytes, sizeof record.second_uuid);
  record.links = nvlink.physicalNvLinkCount;
  record.version = nvlink.nvlinkVersion;
  // CUPTI tells kilobytes a second of all physical links in one direction.
  record.bytes_per_second = bytes(nvlink.bandwidth) * 1000;
  return record;
}

trace::RecordKind record_kind_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return trace::RecordKind::kKernelActivity;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return trace::RecordKind::kMemcpyActivity;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return trace::RecordKind::kMemsetActivity;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return trace::RecordKind::kSync;
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return trace::RecordKind::kDevice;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return trace::RecordKind::kContext;
    case CUPTI_ACTIVITY_KIND_STREAM:
      return trace::RecordKind::kStream;
    case CUPTI_ACTIVITY_KIND_MARKER:
      return trace::RecordKind::kMarker;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return trace::RecordKind::kOverhead;
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return trace::RecordKind::kApiCall;
    case CUPTI_ACTIVITY_KIND_NVLINK:
      return trace::RecordKind::kNvlink;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return trace::RecordKind::kUmEvent;
    default:
      return trace::RecordKind::kNone;
  }
}

}  // namespace tferry::collector
