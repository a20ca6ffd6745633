#include "collector/decode.hpp"

#include "collector/testing/record_builder.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tferry::collector {
namespace {

TEST(DecodeTest, KernelKeepsItsShapePlaceAndTime) {
  CUpti_ActivityKernel10 kernel = kernel_activity("gemm", 1000, 2500);
  kernel.deviceId = 3;
  kernel.gridY = 4;
  kernel.blockZ = 2;
  kernel.registersPerThread = 168;
  kernel.staticSharedMemory = 1024;
  kernel.dynamicSharedMemory = 98304;
  kernel.graphId = 5;
  kernel.graphNodeId = 77;
  const trace::KernelActivityRecord record = decode(kernel, {}, 99);
  EXPECT_EQ(record.time_ns, 1000);
  EXPECT_EQ(record.end_ns, 2500);
  EXPECT_EQ(record.name, 99u);
  EXPECT_EQ(record.grid, (trace::Dim3{128, 4, 1}));
  EXPECT_EQ(record.block, (trace::Dim3{256, 1, 2}));
  EXPECT_EQ(record.registers, 168u);
  EXPECT_EQ(record.static_shared_bytes, 1024u);
  EXPECT_EQ(record.dynamic_shared_bytes, 98304u);
  EXPECT_EQ(record.graph_id, 5u);
  EXPECT_EQ(record.graph_node_id, 77u);
  EXPECT_EQ(record.correlation_id, 42u);
  EXPECT_EQ(record.context_id, 1u);
  EXPECT_EQ(record.stream_id, 7u);
  EXPECT_EQ(record.device, 3);
}

TEST(DecodeTest, MemcpyKeepsDirectionAndMemoryKinds) {
  const trace::MemcpyActivityRecord record = decode(memcpy_activity(1 << 30, 10, 20), {});
  EXPECT_EQ(record.bytes, 1 << 30);
  EXPECT_EQ(record.kind, trace::CopyKind::kHostToDevice);
  EXPECT_EQ(record.source_kind, trace::MemoryKind::kPinned);
  EXPECT_EQ(record.destination_kind, trace::MemoryKind::kDevice);
  EXPECT_EQ(record.asynchronous, 1);
  EXPECT_EQ(record.correlation_id, 43u);
  EXPECT_EQ(record.source_device, -1);
}

TEST(DecodeTest, PeerCopyNamesBothCards) {
  CUpti_ActivityMemcpyPtoP4 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  copy.bytes = 4096;
  copy.start = 5;
  copy.end = 6;
  copy.srcDeviceId = 1;
  copy.dstDeviceId = 2;
  copy.channelID = CUPTI_INVALID_CHANNEL_ID;
  const trace::MemcpyActivityRecord record = decode(copy, {});
  EXPECT_EQ(record.kind, trace::CopyKind::kPeer);
  EXPECT_EQ(record.source_device, 1);
  EXPECT_EQ(record.destination_device, 2);
  EXPECT_EQ(record.channel, 0u);
}

TEST(DecodeTest, EveryCopyKindOfCuptiHasADirection) {
  using trace::CopyKind;
  const CopyKind expected[] = {
      CopyKind::kUnknown,        CopyKind::kHostToDevice,   CopyKind::kDeviceToHost,
      CopyKind::kHostToDevice,   CopyKind::kDeviceToHost,   CopyKind::kDeviceToDevice,
      CopyKind::kDeviceToDevice, CopyKind::kDeviceToDevice, CopyKind::kDeviceToDevice,
      CopyKind::kHostToHost,     CopyKind::kPeer,           CopyKind::kUnknown};
  for (std::uint8_t kind = 0; kind < std::size(expected); ++kind) {
    EXPECT_EQ(copy_kind(kind), expected[kind]) << int{kind};
  }
}

TEST(DecodeTest, EveryMemoryKindOfCuptiHasAKind) {
  using trace::MemoryKind;
  const MemoryKind expected[] = {MemoryKind::kUnknown, MemoryKind::kPageable, MemoryKind::kPinned,
                                 MemoryKind::kDevice,  MemoryKind::kArray,    MemoryKind::kManaged,
                                 MemoryKind::kDevice,  MemoryKind::kManaged,  MemoryKind::kUnknown};
  for (std::uint16_t kind = 0; kind < std::size(expected); ++kind) {
    EXPECT_EQ(memory_kind(kind), expected[kind]) << kind;
  }
}

TEST(DecodeTest, MemsetKeepsValueAndBytes) {
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.value = 0xff;
  set.bytes = 12345;
  set.start = 1;
  set.end = 9;
  set.streamId = 4;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  const trace::MemsetActivityRecord record = decode(set, {});
  EXPECT_EQ(record.value, 0xffu);
  EXPECT_EQ(record.bytes, 12345);
  EXPECT_EQ(record.end_ns, 9);
  EXPECT_EQ(record.stream_id, 4u);
  EXPECT_EQ(record.kind, trace::MemoryKind::kManaged);
}

TEST(DecodeTest, SyncWithoutStreamOrEventHasNone) {
  CUpti_ActivitySynchronization2 sync{};
  sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  sync.start = 7;
  sync.end = 8;
  sync.contextId = 2;
  sync.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  sync.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  trace::SyncRecord record = decode(sync, {});
  EXPECT_EQ(record.kind, trace::SyncKind::kContext);
  EXPECT_EQ(record.stream_id, 0u);
  EXPECT_EQ(record.event, 0u);
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  sync.streamId = 7;
  sync.cudaEventId = 21;
  record = decode(sync, {});
  EXPECT_EQ(record.kind, trace::SyncKind::kStreamWaitEvent);
  EXPECT_EQ(record.stream_id, 7u);
  EXPECT_EQ(record.event, 21u);
}

TEST(DecodeTest, DeviceKeepsUuidAndEngines) {
  CUpti_ActivityDevice5 card{};
  card.id = 1;
  card.uuid.bytes[0] = static_cast<char>(0xab);
  card.uuid.bytes[15] = 0x7f;
  card.globalMemorySize = std::uint64_t{141} << 30;
  card.numMultiprocessors = 132;
  card.numMemcpyEngines = 3;
  card.computeCapabilityMajor = 9;
  const trace::DeviceRecord record = decode(card, 55, 7);
  EXPECT_EQ(record.time_ns, 55);
  EXPECT_EQ(record.device, 1);
  EXPECT_EQ(record.uuid[0], 0xab);
  EXPECT_EQ(record.uuid[15], 0x7f);
  EXPECT_EQ(record.memory_bytes, std::int64_t{141} << 30);
  EXPECT_EQ(record.multiprocessors, 132);
  EXPECT_EQ(record.copy_engines, 3);
  EXPECT_EQ(record.compute_major, 9);
}

TEST(DecodeTest, MigrationsSayWhereFromAndWhy) {
  CUpti_ActivityUnifiedMemoryCounter3 counter{};
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH;
  counter.value = 2 << 20;
  counter.start = 1;
  counter.end = 2;
  counter.address = 0x7f0000000000;
  counter.srcId = 1;
  counter.dstId = 0;
  counter.flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION;
  const auto record = decode(counter, {});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->kind, trace::UmEventKind::kMigrationToHost);
  EXPECT_EQ(record->bytes, 2 << 20);
  EXPECT_EQ(record->source_device, 1);
  EXPECT_EQ(record->destination_device, -1);
  EXPECT_EQ(record->cause, 4u);
  EXPECT_EQ(record->address, 0x7f0000000000u);
}

TEST(DecodeTest, CpuFaultHasAnAddressOfCodeForValueWhichIsNoCount) {
  CUpti_ActivityUnifiedMemoryCounter3 counter{};
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT;
  counter.value = 0x55555abcdef0;
  counter.start = 3;
  counter.flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ;
  const auto record = decode(counter, {});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->kind, trace::UmEventKind::kCpuFault);
  EXPECT_EQ(record->count, 1);
  EXPECT_EQ(record->bytes, 0);
  EXPECT_EQ(record->end_ns, 3);
  EXPECT_EQ(record->cause, 1u);
}

TEST(DecodeTest, GpuFaultsSayHowMemoryWasAccessed) {
  CUpti_ActivityUnifiedMemoryCounter3 counter{};
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
  counter.value = 31;
  counter.srcId = 1;
  counter.flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE;
  const auto record = decode(counter, {});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->kind, trace::UmEventKind::kGpuFault);
  EXPECT_EQ(record->count, 31);
  EXPECT_EQ(record->source_device, 1);
  EXPECT_EQ(record->cause, 2u);
}

TEST(DecodeTest, ThrottlingHasASpanAndARemoteMapItsEndsAndCause) {
  CUpti_ActivityUnifiedMemoryCounter3 counter{};
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING;
  counter.start = 10;
  counter.end = 30;
  counter.srcId = 1;
  const auto throttling = decode(counter, {});
  ASSERT_TRUE(throttling);
  EXPECT_EQ(throttling->kind, trace::UmEventKind::kThrottling);
  EXPECT_EQ(throttling->end_ns, 30);
  EXPECT_EQ(throttling->source_device, 1);
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP;
  counter.flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_OUT_OF_MEMORY;
  counter.value = 65536;
  const auto map = decode(counter, {});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->kind, trace::UmEventKind::kRemoteMap);
  EXPECT_EQ(map->bytes, 65536);
  EXPECT_EQ(map->end_ns, map->time_ns);
  EXPECT_EQ(map->cause, 4u);
}

TEST(DecodeTest, CounterKindsWithoutARecordAreNone) {
  CUpti_ActivityUnifiedMemoryCounter3 counter{};
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN;
  EXPECT_FALSE(decode(counter, {}));
}

TEST(DecodeTest, ACallOfTheDriverHasItsThreadAndResult) {
  CUpti_ActivityAPI call{};
  call.start = 5;
  call.end = 9;
  call.threadId = 77;
  call.correlationId = 3;
  call.returnValue = 2;
  const trace::ApiCallRecord record = decode(call, {}, 8);
  EXPECT_EQ(record.time_ns, 5);
  EXPECT_EQ(record.end_ns, 9);
  EXPECT_EQ(record.name, 8u);
  EXPECT_EQ(record.thread, 77u);
  EXPECT_EQ(record.correlation_id, 3u);
  EXPECT_EQ(record.result, 2u);
}

TEST(DecodeTest, NvlinkBetweenTwoGpusHasBothAndItsRate) {
  CUpti_ActivityNvLink4 nvlink{};
  nvlink.typeDev0 = nvlink.typeDev1 = CUPTI_DEV_TYPE_GPU;
  nvlink.idDev0.uuidDev.bytes[0] = 1;
  nvlink.idDev1.uuidDev.bytes[0] = 2;
  nvlink.physicalNvLinkCount = 18;
  nvlink.bandwidth = 450'000'000;  // kilobytes a second
  const auto record = decode(nvlink, 5);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->first_uuid[0], 1);
  EXPECT_EQ(record->second_uuid[0], 2);
  EXPECT_EQ(record->links, 18u);
  EXPECT_EQ(record->bytes_per_second, 450'000'000'000);
  nvlink.typeDev1 = CUPTI_DEV_TYPE_NPU;
  EXPECT_FALSE(decode(nvlink, 5));
}

TEST(DecodeTest, UnknownTimesStayUnknownWhateverTheOffset) {
  const TimeBase time{.offset_ns = -500};
  EXPECT_EQ(time.convert(0), 0);
  EXPECT_EQ(time.convert(1500), 1000);
  EXPECT_EQ(time.convert(std::numeric_limits<std::uint64_t>::max()), 0);
}

// parcagpu#23: zero and reversed times reach the spool as they are, where the reader counts them.
TEST(DecodeTest, Parcagpu23Nvrx115ZeroAndReversedTimesAreKeptAsTheyAre) {
  const auto zero = decode(kernel_activity("k", 0, 0), {}, 1);
  EXPECT_EQ(zero.time_ns, 0);
  EXPECT_EQ(zero.end_ns, 0);
  const auto reversed = decode(kernel_activity("k", 200, 100), {}, 1);
  EXPECT_EQ(reversed.time_ns, 200);
  EXPECT_EQ(reversed.end_ns, 100);
}

TEST(DecodeTest, EveryKindThatIsEnabledHasARecordKind) {
  for (const auto kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_DEVICE,
        CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_MARKER,
        CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_ACTIVITY_KIND_DRIVER,
        CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_NVLINK}) {
    EXPECT_NE(record_kind_of(kind), trace::RecordKind::kNone) << kind;
  }
}

}  // namespace
}  // namespace tferry::collector
