#include "tests/software_driver/driver_fixture.hpp"

#include <atomic>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tferry::software_driver {
namespace {

class StreamTest : public DriverTest {
 protected:
  CUdeviceptr buffer(std::size_t size = kGranule) {
    CUdeviceptr base = 0;
    EXPECT_OK(cuMemAlloc(&base, size));
    return base;
  }
};

TEST_F(StreamTest, WorkRunsAfterTheCallHasReturned) {
  const CUstream late = stream();
  const CUdeviceptr base = buffer();
  Gate gate;
  gate.close_after(late);
  ASSERT_OK(cuMemsetD32Async(base, 9, 4, late));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuStreamQuery(late));
  gate.open();
  EXPECT_OK(cuStreamSynchronize(late));
  EXPECT_OK(cuStreamQuery(late));
  EXPECT_EQ(9U, word_at(base));
}

TEST_F(StreamTest, CopiesReadTheirSourceWhenTheyRunNotWhenTheyAreCalled) {
  const CUstream late = stream();
  const CUdeviceptr base = buffer();
  std::uint32_t in = 1, out = 0;
  Gate gate;
  gate.close_after(late);
  ASSERT_OK(cuMemcpyHtoDAsync(base, &in, sizeof in, late));
  ASSERT_OK(cuMemcpyDtoHAsync(&out, base, sizeof out, late));
  in = 2;
  gate.open();
  ASSERT_OK(cuStreamSynchronize(late));
  EXPECT_EQ(2U, out);
}

TEST_F(StreamTest, AnEventOrdersTwoStreams) {
  const CUstream writer = stream(), reader = stream();
  const CUevent written = event(CU_EVENT_DISABLE_TIMING);
  const CUdeviceptr base = buffer();
  std::uint32_t seen = 0;
  Gate gate;
  gate.close_after(writer);
  ASSERT_OK(cuMemsetD32Async(base, 5, 1, writer));
  ASSERT_OK(cuEventRecord(written, writer));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuEventQuery(written));
  ASSERT_OK(cuStreamWaitEvent(reader, written, 0));
  ASSERT_OK(cuMemcpyDtoHAsync(&seen, base, sizeof seen, reader));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuStreamQuery(reader));
  gate.open();
  ASSERT_OK(cuStreamSynchronize(reader));
  EXPECT_EQ(5U, seen);
}

TEST_F(StreamTest, WithoutTheEventTheReaderSeesOldBytes) {
  const CUstream writer = stream(), reader = stream();
  const CUdeviceptr base = buffer();
  ASSERT_OK(cuMemsetD32(base, 1, 1));
  ASSERT_OK(cuCtxSynchronize());
  std::uint32_t seen = 0;
  Gate gate;
  gate.close_after(writer);
  ASSERT_OK(cuMemsetD32Async(base, 5, 1, writer));
  ASSERT_OK(cuMemcpyDtoHAsync(&seen, base, sizeof seen, reader));
  ASSERT_OK(cuStreamSynchronize(reader));
  gate.open();
  EXPECT_EQ(1U, seen);
}

TEST_F(StreamTest, AWaitCoversTheRecordBeforeItNotLaterOnes) {
  const CUstream first = stream(), second = stream();
  const CUevent mark = event();
  ASSERT_OK(cuStreamWaitEvent(second, mark, 0));
  EXPECT_OK(cuStreamSynchronize(second)) << "an event that was never recorded is no reason to wait";
  ASSERT_OK(cuEventRecord(mark, first));
  ASSERT_OK(cuStreamWaitEvent(second, mark, 0));
  Gate gate;
  gate.close_after(first);
  ASSERT_OK(cuEventRecord(mark, first));
  EXPECT_OK(cuStreamSynchronize(second));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuEventQuery(mark));
  gate.open();
  EXPECT_OK(cuEventSynchronize(mark));
}

/// One word goes through two streams many times, with or without the wait between them. True when the reader
/// once saw another word than the one written before. It reads by an alias, which the thread sanitizer takes
/// for other memory.
bool reader_missed_a_write(CUdeviceptr base, CUdeviceptr alias, CUstream writer, CUstream reader,
                           CUevent wait_for) {
  for (std::uint32_t round = 1; round <= 300; ++round) {
    std::uint32_t seen = 0;
    EXPECT_OK(cuMemsetD32Async(base, round, 1, writer));
    if (wait_for) {
      EXPECT_OK(cuEventRecord(wait_for, writer));
      EXPECT_OK(cuStreamWaitEvent(reader, wait_for, 0));
    }
    EXPECT_OK(cuMemcpyDtoHAsync(&seen, alias, sizeof seen, reader));
    EXPECT_OK(cuStreamSynchronize(reader));
    EXPECT_OK(cuStreamSynchronize(writer));
    if (seen != round) return true;
  }
  return false;
}

TEST_F(StreamTest, JitterShowsAMissingWaitAndSparesAPresentOne) {
  const auto handle = create(1);
  const CUdeviceptr base = reserve(1), alias = reserve(1);
  for (const CUdeviceptr at : {base, alias}) {
    ASSERT_OK(cuMemMap(at, kGranule, 0, handle, 0));
    allow(at, 1);
  }
  const CUstream writer = stream(), reader = stream();
  swd_set_jitter(17);
  EXPECT_FALSE(reader_missed_a_write(base, alias, writer, reader, event()));
  EXPECT_TRUE(reader_missed_a_write(base, alias, writer, reader, nullptr));
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT), free = stream(CU_STREAM_NON_BLOCKING);
  Gate free_gate, blocking_gate;
  free_gate.close_after(free);
  ASSERT_OK(cuMemsetD32Async(buffer(), 1, 1, nullptr));
  EXPECT_OK(cuStreamSynchronize(nullptr)) << "the non-blocking stream is still held";
  blocking_gate.close_after(blocking);
  ASSERT_OK(cuMemsetD32Async(buffer(), 1, 1, CU_STREAM_LEGACY));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuStreamQuery(nullptr));
  blocking_gate.open();
  EXPECT_OK(cuStreamSynchronize(nullptr));
}

TEST_F(StreamTest, BlockingStreamsWaitForTheLegacyStream) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT), free = stream(CU_STREAM_NON_BLOCKING);
  Gate gate;
  gate.close_after(nullptr);
  ASSERT_OK(cuMemsetD32Async(buffer(), 1, 1, free));
  EXPECT_OK(cuStreamSynchronize(free));
  ASSERT_OK(cuMemsetD32Async(buffer(), 1, 1, blocking));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuStreamQuery(blocking));
  gate.open();
  EXPECT_OK(cuStreamSynchronize(blocking));
}

TEST_F(StreamTest, EveryThreadHasADefaultStreamOfItsOwn) {
  unsigned long long here = 0, there = 0;
  ASSERT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &here));
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(context_));
    EXPECT_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &there));
  }).join();
  EXPECT_NE(here, there);
}

TEST_F(StreamTest, CopiesTakeTheirEngineInTurnAndTheDirectionsOverlap) {
  swd_set_copy_rates(1, 1);  // a byte per nanosecond
  const CUstream first = stream(), second = stream(), out = stream();
  const CUdeviceptr base = buffer(3 * kGranule);
  std::vector<char> host(3 * kGranule);
  CUevent begin = event(), first_end = event(), second_end = event(), out_end = event();
  ASSERT_OK(cuEventRecord(begin, first));
  ASSERT_OK(cuMemcpyHtoDAsync(base, host.data(), kGranule, first));
  ASSERT_OK(cuEventRecord(first_end, first));
  ASSERT_OK(cuStreamSynchronize(first));
  ASSERT_OK(cuStreamWaitEvent(second, begin, 0));
  ASSERT_OK(cuMemcpyHtoDAsync(base, host.data() + kGranule, kGranule, second));
  ASSERT_OK(cuEventRecord(second_end, second));
  ASSERT_OK(cuMemcpyDtoHAsync(host.data() + 2 * kGranule, base + 2 * kGranule, kGranule, out));
  ASSERT_OK(cuEventRecord(out_end, out));
  ASSERT_OK(cuCtxSynchronize());
  float one = 0, two = 0, three = 0;
  ASSERT_OK(cuEventElapsedTime(&one, begin, first_end));
  ASSERT_OK(cuEventElapsedTime(&two, begin, second_end));
  ASSERT_OK(cuEventElapsedTime(&three, first_end, out_end));
  const float piece = static_cast<float>(kGranule) * 1e-6F;
  EXPECT_FLOAT_EQ(piece, one);
  EXPECT_FLOAT_EQ(2 * piece, two);
  EXPECT_FLOAT_EQ(piece, three);
}

TEST_F(StreamTest, TheHostClockFollowsWhatTheHostHasSeen) {
  const std::int64_t before = swd_virtual_now_ns();
  swd_set_copy_rates(1, 1);
  std::vector<char> host(kGranule);
  ASSERT_OK(cuMemcpyHtoD(buffer(), host.data(), kGranule));
  EXPECT_LE(before + static_cast<std::int64_t>(kGranule), swd_virtual_now_ns());
}

TEST_F(StreamTest, DestroyedStreamsAndEventsAreRefused) {
  const CUstream gone = stream();
  const CUevent lost = event();
  ASSERT_OK(cuStreamDestroy(gone));
  ASSERT_OK(cuEventDestroy(lost));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(gone));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(gone));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuMemsetD8Async(buffer(), 0, 1, gone));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(lost));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(lost, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(nullptr, lost, 0));
}

TEST_F(StreamTest, ADestroyedStreamStillDoesItsWork) {
  const CUstream late = stream();
  const CUevent done = event();
  const CUdeviceptr base = buffer();
  Gate gate;
  gate.close_after(late);
  ASSERT_OK(cuMemsetD32Async(base, 6, 1, late));
  ASSERT_OK(cuEventRecord(done, late));
  ASSERT_OK(cuStreamDestroy(late));
  gate.open();
  ASSERT_OK(cuEventSynchronize(done));
  EXPECT_EQ(6U, word_at(base));
}

TEST_F(StreamTest, HostFunctionsMustNotCallTheDriver) {
  CUresult inside = CUDA_SUCCESS;
  const CUstream plain = stream();
  ASSERT_OK(cuLaunchHostFunc(
      plain, [](void* result) { *static_cast<CUresult*>(result) = cuCtxSynchronize(); }, &inside));
  ASSERT_OK(cuStreamSynchronize(plain));
  EXPECT_CUDA(CUDA_ERROR_NOT_PERMITTED, inside);
}

TEST_F(StreamTest, CallbacksRunAfterAnErrorAndAreTold) {
  const CUstream plain = stream();
  CUresult told = CUDA_SUCCESS;
  bool host_function_ran = false;
  Gate gate;
  gate.close_after(plain);
  ASSERT_OK(cuMemsetD8Async(reserve(1), 0, 1, plain));
  ASSERT_OK(cuLaunchHostFunc(plain, [](void* ran) { *static_cast<bool*>(ran) = true; }, &host_function_ran));
  ASSERT_OK(cuStreamAddCallback(
      plain, [](CUstream, CUresult status, void* result) { *static_cast<CUresult*>(result) = status; }, &told,
      0));
  gate.open();
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(plain));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, told);
  EXPECT_FALSE(host_function_ran);
}

TEST_F(StreamTest, AStreamWaitsForAValueThatAnotherWrites) {
  const CUstream waiter = stream(), writer = stream();
  const CUdeviceptr flag = buffer(), data = buffer();
  ASSERT_OK(cuMemsetD32(flag, 0, 2));
  ASSERT_OK(cuCtxSynchronize());
  ASSERT_OK(cuStreamWaitValue32(waiter, flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
  ASSERT_OK(cuMemsetD32Async(data, 1, 1, waiter));
  ASSERT_OK(cuStreamWriteValue32(writer, flag, 2, 0));
  ASSERT_OK(cuStreamSynchronize(writer));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuStreamQuery(waiter));
  CUstreamBatchMemOpParams write{};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = flag;
  write.writeValue.value = 4;
  ASSERT_OK(cuStreamBatchMemOp(writer, 1, &write, 0));
  EXPECT_OK(cuStreamSynchronize(waiter));
}

TEST_F(StreamTest, AWordOfRegisteredMemoryIsSharedWithAnotherProcess) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, page);
  auto& words = *static_cast<std::atomic<std::uint32_t>(*)[2]>(page);
  ASSERT_OK(cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr at = 0;
  ASSERT_OK(cuMemHostGetDevicePointer(&at, page, 0));
  const pid_t other = fork();
  if (other == 0) {  // answers as soon as the GPU has asked
    while (words[0].load() != 5) usleep(100);
    words[1].store(5);
    _exit(0);
  }
  const CUstream asking = stream();
  const CUdeviceptr data = buffer();
  ASSERT_OK(cuStreamWriteValue32(asking, at, 5, CU_STREAM_WRITE_VALUE_DEFAULT));
  ASSERT_OK(cuStreamWaitValue32(asking, at + 4, 5, CU_STREAM_WAIT_VALUE_GEQ));
  ASSERT_OK(cuMemsetD32Async(data, 7, 1, asking));
  ASSERT_OK(cuStreamSynchronize(asking));
  EXPECT_EQ(7U, word_at(data));
  int status = -1;
  EXPECT_EQ(other, waitpid(other, &status, 0));
  EXPECT_EQ(0, status);
  ASSERT_OK(cuMemHostUnregister(page));
  munmap(page, 4096);
}

TEST_F(StreamTest, AWaitForAValueIsCyclic) {
  const CUstream waiter = stream();
  const CUdeviceptr flag = buffer();
  ASSERT_OK(cuMemsetD32(flag, 0x00000001, 1));
  ASSERT_OK(cuCtxSynchronize());
  ASSERT_OK(cuStreamWaitValue32(waiter, flag, 0xffffffff, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_OK(cuStreamSynchronize(waiter));
}

TEST_F(StreamTest, CopiesWithinTheDeviceDoNotMakeTheHostWait) {
  const CUdeviceptr from = buffer(), to = buffer();
  Gate gate;
  gate.close_after(nullptr);
  ASSERT_OK(cuMemcpyDtoD(to, from, 16));
  ASSERT_OK(cuMemsetD8(to, 1, 16));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuStreamQuery(nullptr));
  gate.open();
  EXPECT_OK(cuStreamSynchronize(nullptr));
}

TEST_F(StreamTest, RowsAndBoxesAreCopiedWithTheirPitch) {
  std::vector<std::uint32_t> host(4 * 6);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::uint32_t>(i);
  CUdeviceptr base = 0;
  std::size_t pitch = 0;
  ASSERT_OK(cuMemAllocPitch(&base, &pitch, 16, 6, 4));
  EXPECT_EQ(0U, pitch % 512);
  CUDA_MEMCPY2D in{};
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = host.data();
  in.srcPitch = 16;
  in.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  in.dstDevice = base;
  in.dstPitch = pitch;
  in.WidthInBytes = 16;
  in.Height = 6;
  ASSERT_OK(cuMemcpy2D(&in));
  EXPECT_EQ((std::vector<std::uint32_t>{4, 5, 6, 7}), words_at(base + pitch, 4));

  CUDA_MEMCPY3D
  out{};  // two slices of two rows of two words, from row 1 and word 1 of each slice of three rows
  std::vector<std::uint32_t> box(8);
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = base;
  out.srcPitch = pitch;
  out.srcHeight = 3;
  out.srcY = 1;
  out.srcXInBytes = 4;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = box.data();
  out.WidthInBytes = 8;
  out.Height = 2;
  out.Depth = 2;
  ASSERT_OK(cuMemcpy3D(&out));
  EXPECT_EQ((std::vector<std::uint32_t>{5, 6, 9, 10, 17, 18, 21, 22}), box);
}

TEST_F(StreamTest, BatchesAreCopiedInOrderOnARealStream) {
  const CUdeviceptr base = buffer();
  ASSERT_OK(cuMemsetD32(base, 1, 1));
  ASSERT_OK(cuCtxSynchronize());
  CUdeviceptr to[] = {base + 4, base + 8}, from[] = {base, base + 4};
  std::size_t sizes[] = {4, 4}, starts[] = {0};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  const CUstream plain = stream();
  ASSERT_OK(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, starts, 1, plain));
  ASSERT_OK(cuStreamSynchronize(plain));
  EXPECT_EQ((std::vector<std::uint32_t>{1, 1, 1}), words_at(base, 3));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, starts, 1, nullptr));
}

TEST_F(StreamTest, MemsetsOfAllWidths) {
  const CUdeviceptr base = buffer();
  ASSERT_OK(cuMemsetD8(base, 0xab, 4));
  ASSERT_OK(cuMemsetD16(base + 4, 0x1234, 2));
  ASSERT_OK(cuMemsetD2D32(base + 8, 8, 7, 1, 2));
  EXPECT_EQ((std::vector<std::uint32_t>{0xabababab, 0x12341234, 7, 0, 7}), words_at(base, 5));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(base + 2, 0, 1));
}

TEST_F(StreamTest, CopiesToWhatIsNoDeviceMemoryAreRefused) {
  std::uint32_t here = 0, there = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(&there), &here, 4));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&here, reinterpret_cast<CUdeviceptr>(&there), 4));
  EXPECT_OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(&there), reinterpret_cast<CUdeviceptr>(&here), 4));
}

TEST_F(StreamTest, APeerCopyCrossesDevices) {
  CUcontext other = nullptr;
  ASSERT_OK(cuDevicePrimaryCtxRetain(&other, 1));
  const CUdeviceptr here = buffer();
  ASSERT_OK(cuMemsetD32(here, 11, 1));
  ASSERT_OK(cuCtxSynchronize());
  ASSERT_OK(cuCtxPushCurrent(other));
  CUdeviceptr there = 0;
  ASSERT_OK(cuMemAlloc(&there, 4));
  ASSERT_OK(cuMemcpyPeer(there, other, here, context_, 4));
  EXPECT_EQ(11U, word_at(there));
  int ordinal = -1;
  EXPECT_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there));
  EXPECT_EQ(1, ordinal);
  EXPECT_OK(cuCtxEnablePeerAccess(context_, 0));
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(context_, 0));
  ASSERT_OK(cuCtxPopCurrent(nullptr));
  ASSERT_OK(cuDevicePrimaryCtxReset(1));
}

}  // namespace
}  // namespace tferry::software_driver
