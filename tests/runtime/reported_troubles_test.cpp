// What users of neighbouring projects ran into when they stood between a program and its driver; each test is
// named after a public report (project, number) and holds that kind of trouble off.
#include "tests/runtime/ferried_test.hpp"

#include <thread>

namespace tferry::runtime_test {
namespace {

using trace::ResidentReason;

class ReportedTrouble : public FerriedTest {
 protected:
  template <class T>
  T attribute(CUpointer_attribute which, CUdeviceptr address) {
    T value{};
    EXPECT_OK(api_.cuPointerGetAttribute(&value, which, address));
    return value;
  }
};

// cuMemCreate on a location that is no device was misread as device memory.
TEST_F(ReportedTrouble, HamiCore187_MemoryCreatedOnTheHostIsNotCountedAsTheDevices) {
  allocate(1);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, {0}};
  const std::int64_t allocated = drivers_.device().allocated;
  const SwdStatistics before = drivers_.statistics();
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_OK(api_.cuMemCreate(&handle, kChunk, &properties, 0));
  EXPECT_EQ(allocated, drivers_.device().allocated);
  EXPECT_EQ(before.memory_used, drivers_.statistics().memory_used);
  EXPECT_EQ(before.host_chunks_used + kChunk, drivers_.statistics().host_chunks_used);
  ASSERT_OK(api_.cuMemRelease(handle));
}

// Allocation by the stream-ordered calls went past the interposer.
TEST_F(ReportedTrouble, Nvshare4_EveryWayToAllocateIsServedAndCounted) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(api_.cuDeviceGetDefaultMemPool(&pool, 0));
  const CUstream on = stream();
  std::vector<CUdeviceptr> made(7);
  std::size_t pitch = 0;
  ASSERT_OK(api_.cuMemAlloc_v2(&made[0], kChunk));
  ASSERT_OK(api_.cuMemAllocAsync(&made[1], kChunk, on));
  ASSERT_OK(api_.cuMemAllocAsync_ptsz(&made[2], kChunk, nullptr));
  ASSERT_OK(api_.cuMemAllocFromPoolAsync(&made[3], kChunk, pool, on));
  ASSERT_OK(api_.cuMemAllocFromPoolAsync_ptsz(&made[4], kChunk, pool, nullptr));
  ASSERT_OK(api_.cuMemAllocPitch_v2(&made[5], &pitch, 500, 128, 4));
  ASSERT_OK(api_.cuMemAlloc_v2(&made[6], 100));
  EXPECT_EQ(512U, pitch);
  EXPECT_EQ(static_cast<std::int64_t>(6 * kChunk + 512), drivers_.device().allocated);
  EXPECT_EQ(0U, drivers_.statistics().allocations) << "the driver was asked itself";
  ASSERT_OK(api_.cuMemFree_v2(made[0]));
  ASSERT_OK(api_.cuMemFreeAsync(made[1], on));
  ASSERT_OK(api_.cuMemFreeAsync_ptsz(made[2], nullptr));
  for (const std::size_t i : {3U, 4U, 5U, 6U}) ASSERT_OK(api_.cuMemFree_v2(made[i]));
  EXPECT_EQ(0, drivers_.device().allocated);
}

// Something of the interposer's synchronised while a stream was capturing.
TEST_F(ReportedTrouble, Nvshare22_ACaptureSurvivesEvictionsThatItsOwnThreadCauses) {
  const CUdeviceptr small = allocate(1);
  fill(small, 1, 1);
  std::vector<CUdeviceptr> parked_ones;
  for (std::uint32_t i = 0; i < 6; ++i) {
    parked_ones.push_back(allocate(4));
    fill(parked_ones.back(), 4, i);
  }
  const CUstream capturing = stream();
  const CUstream other = stream();
  CUgraph graph = nullptr;
  ASSERT_OK(api_.cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
  fill(small, 1, 2, capturing);
  for (std::uint32_t i = 0; i < 6; ++i) fill(parked_ones[i], 4, 10 + i, other);
  fill(small, 1, 3, capturing);
  ASSERT_OK(api_.cuStreamEndCapture(capturing, &graph));
  ASSERT_OK(api_.cuGraphDestroy(graph));
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(holds(parked_ones[i], 4, 10 + i)) << i;
}

// An event query on another thread broke the program's capture.
TEST_F(ReportedTrouble, Pytorch104487_ACaptureSurvivesWhatOtherThreadsFetch) {
  const CUdeviceptr small = allocate(1);
  fill(small, 1, 1);
  std::vector<CUdeviceptr> buffers;
  const CUstream other = stream();
  for (std::uint32_t i = 0; i < 6; ++i) {
    buffers.push_back(allocate(4));
    fill(buffers.back(), 4, i, other);
  }
  const CUstream capturing = stream();
  CUgraph graph = nullptr;
  ASSERT_OK(api_.cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
  fill(small, 1, 2, capturing);
  std::thread worker([&] {
    ASSERT_OK(api_.cuCtxSetCurrent(context_));
    for (int round = 0; round < 3; ++round) {
      for (std::uint32_t i = 0; i < 6; ++i) fill(buffers[i], 4, 20 + i, other);
    }
  });
  worker.join();
  fill(small, 1, 3, capturing);
  ASSERT_OK(api_.cuStreamEndCapture(capturing, &graph));
  ASSERT_OK(api_.cuGraphDestroy(graph));
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(holds(buffers[i], 4, 20 + i)) << i;
}

// A stream whose first work is a capture (as torch.cuda.graph's is) has no history to wait for.
TEST_F(ReportedTrouble, Pytorch104487_AStreamFirstMetInACaptureBreaksNothing) {
  const CUdeviceptr buffer = allocate(2);
  const CUstream busy = stream();
  Gate gate;
  gate.close_after(busy);
  fill(buffer, 2, 1, busy);
  const CUdeviceptr captured = allocate(2);
  const CUstream first = stream();
  const CUstream second = stream();
  const CUevent fork = event();
  const CUevent join = event();
  CUgraph graph = nullptr;
  ASSERT_OK(api_.cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  fill(captured, 1, 2, first);
  ASSERT_OK(api_.cuEventRecord(fork, first));
  ASSERT_OK(api_.cuStreamWaitEvent(second, fork, 0));
  fill(captured + kChunk, 1, 3, second);
  ASSERT_OK(api_.cuEventRecord(join, second));
  ASSERT_OK(api_.cuStreamWaitEvent(first, join, 0));
  ASSERT_OK(api_.cuStreamEndCapture(first, &graph));
  ASSERT_OK(api_.cuGraphDestroy(graph));
  gate.open();
}

// Work that was queued on a stream before it began to capture is still there to be waited for.
TEST_F(ReportedTrouble, Pytorch104487_WorkQueuedBeforeACaptureIsNotDrawnIntoIt) {
  const CUstream capturing = stream();
  const CUstream other = stream();
  std::vector<CUdeviceptr> buffers;
  for (std::uint32_t i = 0; i < 4; ++i) {
    buffers.push_back(allocate(4));
    fill(buffers.back(), 4, i, capturing);
  }
  CUgraph graph = nullptr;
  ASSERT_OK(api_.cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
  const CUdeviceptr late = allocate(4);  // something of `capturing` has to leave
  fill(late, 4, 9, other);
  ASSERT_OK(api_.cuStreamEndCapture(capturing, &graph));
  std::size_t nodes = 0;
  ASSERT_OK(api_.cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(0U, nodes);
  ASSERT_OK(api_.cuGraphDestroy(graph));
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(holds(buffers[i], 4, i)) << i;
  EXPECT_TRUE(holds(late, 4, 9));
}

// A segment was unmapped while work that used it was still queued.
TEST_F(ReportedTrouble, Pytorch196258_MemoryIsNotUnmappedUnderQueuedWork) {
  const CUstream worker = stream();
  Gate gate;
  const CUdeviceptr buffer = allocate(4);
  const CUdeviceptr result = allocate(4);
  fill(result, 4, 0, worker);
  gate.close_after(worker);
  fill(buffer, 4, 6, worker);
  ASSERT_OK(api_.cuMemcpyDtoDAsync_v2(result, buffer, 4 * kChunk, worker));
  ASSERT_OK(api_.cuMemFree_v2(buffer));
  const CUstream other = stream();
  for (std::uint32_t i = 0; i < 3; ++i) fill(allocate(4), 4, i, other);
  gate.open();
  EXPECT_OK(api_.cuCtxSynchronize());
  EXPECT_TRUE(holds(result, 4, 6));
}

// Host-backed memory of the virtual memory interface was taken for host memory and read by the CPU.
TEST_F(ReportedTrouble, Ompi12751_ParkedMemoryIsStillDeviceMemory) {
  const CUdeviceptr buffer = allocate(4);
  fill(buffer, 4, 1);
  const auto id = attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, buffer);
  push_out();
  const CUdeviceptr inside = buffer + 3 * kChunk + 5;
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_DEVICE}, attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
  EXPECT_EQ(inside, attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside));
  EXPECT_EQ(buffer, attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
  EXPECT_EQ(4 * kChunk, attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
  EXPECT_EQ(id, attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, inside));
  EXPECT_EQ(0, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside));
  EXPECT_EQ(0, attribute<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, inside));
  void* host = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              api_.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside));
  CUdeviceptr base = 0;
  std::size_t size = 0;
  EXPECT_OK(api_.cuMemGetAddressRange_v2(&base, &size, inside));
  EXPECT_EQ(buffer, base);
  EXPECT_EQ(4 * kChunk, size);
}

TEST_F(ReportedTrouble, Ompi12751_ABufferIdIsNeverUsedAgain) {
  const CUdeviceptr first = allocate(2);
  const auto id = attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, first);
  ASSERT_OK(api_.cuMemFree_v2(first));
  const CUdeviceptr second = allocate(2);
  EXPECT_EQ(first, second) << "the memory is";
  EXPECT_NE(id, attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, second));
}

// A handle for one chunk was taken for the whole range.
TEST_F(ReportedTrouble, Nccl1820_NoHandleOfAChunkIsGivenOut) {
  const CUdeviceptr buffer = allocate(4);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              api_.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(buffer + kChunk)));
}

// The creation of a stream blocked behind a stream that was waiting.
TEST_F(ReportedTrouble, Yaksa228_AllOurStreamsExistBeforeAnythingMoves) {
  const CUdeviceptr first = allocate(4);
  fill(first, 4, 1);
  const std::int64_t made = drivers_.calls("cuStreamCreate");
  push_out();
  EXPECT_TRUE(holds(first, 4, 1));
  EXPECT_LT(0, drivers_.device().bytes_in);
  EXPECT_EQ(made, drivers_.calls("cuStreamCreate"));
}

// The arguments were looked at in a kernel's first launch only.
TEST_F(ReportedTrouble, PhoenixOs_EveryLaunchIsLookedAt) {
  std::vector<CUdeviceptr> buffers;
  for (std::uint32_t i = 0; i < 8; ++i) {
    buffers.push_back(allocate(4));
    fill(buffers.back(), 4, i);
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    std::uint64_t words = kChunk;
    std::uint32_t value = 0;
    CUdeviceptr out = buffers[i];
    void* parameters[] = {&out, &words, &value};
    ASSERT_OK(launch(kernels_.add, nullptr, parameters)) << i;
  }
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_TRUE(holds(buffers[i], 4, i)) << i;
}

// Only base addresses counted, only the first device was served.
TEST_F(ReportedTrouble, Pump_InteriorAddressesName) {
  const CUdeviceptr buffer = allocate(4);
  fill(buffer, 4, 1);
  push_out();
  fill(buffer + 3 * kChunk, 1, 7);
  EXPECT_TRUE(holds(buffer + 3 * kChunk, 1, 7));
}

TEST_F(ReportedTrouble, Pump_EveryDeviceIsServed) {
  CUcontext second = nullptr;
  ASSERT_OK(api_.cuDevicePrimaryCtxRetain(&second, 1));
  ASSERT_OK(api_.cuCtxSetCurrent(second));
  CUdeviceptr other = 0;
  ASSERT_OK(api_.cuMemAlloc_v2(&other, 2 * kChunk));
  EXPECT_EQ(static_cast<std::int64_t>(2 * kChunk), drivers_.status().device[1].allocated);
  EXPECT_EQ(1, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, other));
  ASSERT_OK(api_.cuMemFree_v2(other));
  ASSERT_OK(api_.cuDevicePrimaryCtxReset_v2(1));
  ASSERT_OK(api_.cuCtxSetCurrent(context_));
}

}  // namespace
}  // namespace tferry::runtime_test
