// What programs may rely on, one thing a test: order, waiting, sizes, captures (ALGORITHMS.md, section 1).
#include "tests/runtime/ferried_test.hpp"

#include <thread>

namespace tferry::runtime_test {
namespace {

using trace::ResidentReason;

class Semantics : public FerriedTest {};

TEST_F(Semantics, MoreThanTheBudgetFitsAndComesBackRight) {
  std::vector<CUdeviceptr> buffers;
  for (std::uint32_t i = 0; i < 12; ++i) {
    buffers.push_back(allocate(4));
    fill(buffers.back(), 4, i);
  }
  EXPECT_LT(0, parked());
  for (std::uint32_t i = 0; i < 12; ++i) EXPECT_TRUE(holds(buffers[i], 4, i)) << i;
  EXPECT_LE(drivers_.device().resident_peak, drivers_.device().budget);
}

TEST_F(Semantics, OneOperationWiderThanTheBudgetIsRefusedAndTheRestGoesOn) {
  const CUdeviceptr a = allocate(8);
  fill(a, 8, 1);
  const CUdeviceptr b = allocate(8);
  fill(b, 8, 2);
  const CUdeviceptr c = allocate(8);
  fill(c, 8, 3);
  std::uint64_t words = 8;
  std::uint32_t value = 0;
  CUdeviceptr out = a, in = b, more = c;
  void* parameters[] = {&out, &in, &more, &words, &value};
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, launch(kernels_.mix, nullptr, parameters));
  EXPECT_TRUE(holds(a, 8, 1));
  EXPECT_TRUE(holds(b, 8, 2));
  EXPECT_TRUE(holds(c, 8, 3));
}

TEST_F(Semantics, SizesBeyondAllReasonAreRefusedAtOnce) {
  const CUdeviceptr kept = allocate(4);
  fill(kept, 4, 9);
  CUdeviceptr address = 0;
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 100, std::size_t{1} << 62,
                                  std::size_t{1} << 41, (kBudget + 1) * kChunk}) {
    EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, api_.cuMemAlloc_v2(&address, bytes)) << bytes;
  }
  EXPECT_EQ(0, parked()) << "a wish that cannot be met throws nobody out";
  EXPECT_EQ(0, drivers_.device().host_slabs);
  EXPECT_TRUE(holds(kept, 4, 9));
}

// The free is ordered behind what its stream waits for, not only behind what the stream was given to do.
TEST_F(Semantics, AStreamOrderedFreeComesAfterTheEventsItsStreamWaitsFor) {
  const CUstream worker = stream();
  const CUstream freer = stream();
  for (const std::size_t bytes : {std::size_t{4096}, kChunk}) {
    CUdeviceptr buffer = 0;
    ASSERT_OK(api_.cuMemAlloc_v2(&buffer, bytes));
    ASSERT_OK(api_.cuMemsetD8Async(buffer, 0, bytes, freer));  // both streams are known
    ASSERT_OK(api_.cuStreamSynchronize(freer));
    std::vector<std::uint8_t> found(bytes);
    const CUevent used = event();
    {
      Gate gate;
      gate.close_after(worker);
      ASSERT_OK(api_.cuMemsetD8Async(buffer, 1, bytes, worker));
      ASSERT_OK(api_.cuMemcpyDtoHAsync_v2(found.data(), buffer, bytes, worker));
      ASSERT_OK(api_.cuEventRecord(used, worker));
      ASSERT_OK(api_.cuStreamWaitEvent(freer, used, 0));
      ASSERT_OK(api_.cuMemFreeAsync(buffer, freer));
      CUdeviceptr next = 0;
      ASSERT_OK(api_.cuMemAllocAsync(&next, bytes, stream()));
      // If the memory was given out again, whoever writes to it comes after the reader.
      const CUstream third = stream();
      ASSERT_OK(api_.cuMemsetD8Async(next, 2, bytes, third));
      if (next == buffer) {
        EXPECT_CUDA(CUDA_ERROR_NOT_READY, api_.cuStreamQuery(third));
      }
    }
    ASSERT_OK(api_.cuStreamSynchronize(worker));
    EXPECT_EQ(std::vector<std::uint8_t>(bytes, 1), found) << bytes;
  }
}

// A launch that names small memory only is not gated, so a slab for small memory may not be cut from memory
// that is still in use.
TEST_F(Semantics, SmallMemoryIsNotCutFromMemoryThatIsStillInUse) {
  const CUstream worker = stream();
  const CUstream other = stream();
  const CUdeviceptr all = allocate(kBudget);
  fill(all, kBudget, 1, worker);
  ASSERT_OK(api_.cuMemsetD8Async(all, 0, 8, other));
  ASSERT_OK(api_.cuCtxSynchronize());
  Gate gate;
  gate.close_after(worker);
  fill(all, kBudget, 2, worker);
  ASSERT_OK(api_.cuMemFreeAsync(all, worker));
  CUdeviceptr small = 0;
  std::thread allocator([&] {
    ASSERT_OK(api_.cuCtxSetCurrent(context_));
    ASSERT_OK(api_.cuMemAllocAsync(&small, 512, other));
    ASSERT_OK(api_.cuMemsetD8Async(small, 7, 512, other));
  });
  gate.open();
  allocator.join();
  ASSERT_OK(api_.cuCtxSynchronize());
  std::vector<std::uint8_t> found(512);
  ASSERT_OK(api_.cuMemcpyDtoH_v2(found.data(), small, 512));
  EXPECT_EQ(std::vector<std::uint8_t>(512, 7), found);
}

TEST_F(Semantics, WaitingForTheContextWaitsForStreamsTheRuntimeHasNotMet) {
  // Lazy copies of ours must be under way, or the driver's own wait is used.
  push_out();
  const CUstream lazy = stream();
  fill(allocate(4), 4, 1, lazy);
  Gate lazy_gate;
  lazy_gate.close_after(lazy);
  push_out();
  const CUstream unmet = stream();
  std::atomic<bool> ran{false};
  Gate gate;
  gate.close_after(unmet);
  ASSERT_OK(
      api_.cuLaunchHostFunc(unmet, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran));
  std::thread opener([&] {
    lazy_gate.open();
    gate.open();
  });
  EXPECT_OK(api_.cuCtxSynchronize());
  EXPECT_TRUE(ran);
  opener.join();
}

TEST_F(Semantics, WaitingForTheContextWaitsForDestroyedStreams) {
  push_out();
  const CUdeviceptr small = allocate(1);
  const CUstream gone = stream();
  std::vector<std::uint8_t> found(kChunk);
  Gate gate;
  gate.close_after(gone);
  ASSERT_OK(api_.cuMemsetD8Async(small, 7, kChunk, gone));
  ASSERT_OK(api_.cuMemcpyDtoHAsync_v2(found.data(), small, kChunk, gone));
  ASSERT_OK(api_.cuStreamDestroy_v2(gone));
  push_out();
  std::thread opener([&] { gate.open(); });
  EXPECT_OK(api_.cuCtxSynchronize());
  EXPECT_EQ(std::vector<std::uint8_t>(kChunk, 7), found);
  opener.join();
}

TEST_F(Semantics, DefaultStreamsOfTwoThreadsAreOrderedApart) {
  push_out();
  const CUdeviceptr buffer = allocate(4);
  fill(buffer, 4, 1);
  ASSERT_OK(api_.cuCtxSynchronize());
  Gate gate;
  std::thread worker([&] {
    ASSERT_OK(api_.cuCtxSetCurrent(context_));
    gate.close_after(CU_STREAM_PER_THREAD);
    CUdeviceptr out = buffer;
    std::uint64_t words = kChunk;
    std::uint32_t seed = 5;
    void* parameters[] = {&out, &words, &seed};
    ASSERT_OK(api_.cuLaunchKernel_ptsz(kernels_.fill, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  });
  worker.join();
  // The buffer leaves for other contents, which must wait for the worker's kernel.
  const CUstream other = stream();
  for (std::uint32_t i = 0; i < 4; ++i) fill(allocate(4), 4, 100 + i, other);
  gate.open();
  ASSERT_OK(api_.cuCtxSynchronize());
  EXPECT_TRUE(holds(buffer, 4, 5));
}

TEST_F(Semantics, AWordWrittenByAStreamOperationIsNotLost) {
  const CUdeviceptr buffer = allocate(4);
  fill(buffer, 4, 1);
  push_out();
  ASSERT_OK(api_.cuStreamWriteValue32_v2(nullptr, buffer + 8, 4711, 0));
  std::uint32_t found = 0;
  ASSERT_OK(api_.cuMemcpyDtoH_v2(&found, buffer + 8, 4));
  EXPECT_EQ(4711U, found);
}

TEST_F(Semantics, APointerTableKeepsWhatItPointsTo) {
  const CUdeviceptr hidden = allocate(4);
  fill(hidden, 4, 1);
  CUdeviceptr table = 0;
  ASSERT_OK(api_.cuMemAlloc_v2(&table, 8));
  ASSERT_OK(api_.cuMemcpyHtoD_v2(table, &hidden, 8));
  EXPECT_EQ(1, resident_for(ResidentReason::kPointedTo));
  push_out();
  std::uint32_t count = 1, value = 3;
  std::uint64_t words = kChunk;
  void* parameters[] = {&table, &count, &words, &value};
  ASSERT_OK(launch(kernels_.add_by_table, nullptr, parameters));
  std::uint32_t found = 0, expected = 0;
  fill_words(&expected, 1, 1);
  ASSERT_OK(api_.cuMemcpyDtoH_v2(&found, hidden, 4));
  EXPECT_EQ(expected + 3, found);
}

TEST_F(Semantics, ATableWhoseTargetsCannotAllBeThereIsRefused) {
  std::vector<CUdeviceptr> buffers;
  for (std::uint32_t i = 0; i < 6; ++i) {
    buffers.push_back(allocate(4));
    fill(buffers.back(), 4, i);
  }
  CUdeviceptr table = 0;
  ASSERT_OK(api_.cuMemAlloc_v2(&table, 48));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, api_.cuMemcpyHtoD_v2(table, buffers.data(), 48));
}

TEST_F(Semantics, APointerThatAKernelStoredIsFoundByTheSearch) {
  const CUdeviceptr hidden = allocate(4);
  fill(hidden, 4, 1);
  CUdeviceptr table = allocate(1);
  std::uint64_t word = hidden;
  void* parameters[] = {&table, &word};
  ASSERT_OK(launch(kernels_.store, nullptr, parameters));
  push_out();
  EXPECT_EQ(1, resident_for(ResidentReason::kPointedTo));
}

TEST_F(Semantics, FreedMemoryIsNotUsedWhileAGraphMayStillUseIt) {
  const CUstream worker = stream();
  const CUstream other = stream();
  for (const std::size_t bytes : {std::size_t{4096}, kChunk}) {
    CUdeviceptr result = 0;
    ASSERT_OK(api_.cuMemAlloc_v2(&result, bytes));
    ASSERT_OK(api_.cuMemsetD8Async(result, 0, bytes, other));
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUdeviceptr temporary = 0;
    ASSERT_OK(api_.cuStreamBeginCapture_v2(worker, CU_STREAM_CAPTURE_MODE_RELAXED));
    ASSERT_OK(api_.cuMemAlloc_v2(&temporary, bytes));
    ASSERT_OK(api_.cuMemsetD8Async(temporary, 9, bytes, worker));
    ASSERT_OK(api_.cuMemcpyDtoDAsync_v2(result, temporary, bytes, worker));
    ASSERT_OK(api_.cuMemFree_v2(temporary));
    ASSERT_OK(api_.cuStreamEndCapture(worker, &graph));
    ASSERT_OK(api_.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ASSERT_OK(api_.cuGraphDestroy(graph));
    ASSERT_OK(api_.cuCtxSynchronize());
    for (int i = 0; i < 8; ++i) {
      CUdeviceptr fresh = 0;
      ASSERT_OK(api_.cuMemAlloc_v2(&fresh, bytes));
      EXPECT_NE(temporary, fresh) << bytes;
    }
    ASSERT_OK(api_.cuGraphExecDestroy(exec));
    ASSERT_OK(api_.cuMemFree_v2(result));
  }
}

TEST_F(Semantics, ABufferOfAGraphStaysUntilTheGraphIsGone) {
  const CUdeviceptr buffer = allocate(4);
  fill(buffer, 4, 1);
  const CUstream worker = stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_OK(api_.cuCtxSynchronize());
  ASSERT_OK(api_.cuStreamBeginCapture_v2(worker, CU_STREAM_CAPTURE_MODE_GLOBAL));
  fill(buffer, 4, 2, worker);
  ASSERT_OK(api_.cuStreamEndCapture(worker, &graph));
  ASSERT_OK(api_.cuGraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_OK(api_.cuGraphDestroy(graph));
  push_out();
  EXPECT_EQ(1, resident_for(ResidentReason::kCaptured));
  ASSERT_OK(api_.cuGraphLaunch(exec, worker));
  ASSERT_OK(api_.cuStreamSynchronize(worker));
  EXPECT_TRUE(holds(buffer, 4, 2));
  ASSERT_OK(api_.cuGraphExecDestroy(exec));
  EXPECT_EQ(0, resident_for(ResidentReason::kCaptured));
}

TEST_F(Semantics, AResetEndsAllMemoryAndTheNextContextBeginsAfresh) {
  const CUdeviceptr before = allocate(4);
  fill(before, 4, 1);
  push_out();
  start(kBudget);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, api_.cuMemFree_v2(before));
  EXPECT_EQ(0, drivers_.device().allocated);
  EXPECT_EQ(0, parked());
  const CUdeviceptr after = allocate(4);
  fill(after, 4, 2);
  EXPECT_TRUE(holds(after, 4, 2));
}

TEST_F(Semantics, FreeingWhatIsNoAllocationIsRefused) {
  const CUdeviceptr buffer = allocate(2);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, api_.cuMemFree_v2(buffer + 512));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, api_.cuMemFree_v2(buffer + kChunk));
  EXPECT_OK(api_.cuMemFree_v2(buffer));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, api_.cuMemFree_v2(buffer));
}

// A rank of a job but the first uses another device than 0, and its plan has all of its operations.
TEST_F(Semantics, WhatNamesNothingThatMovesIsAnOperationOfTheCurrentDevice) {
  CUcontext second = nullptr;
  ASSERT_OK(api_.cuDevicePrimaryCtxRetain(&second, 1));
  ASSERT_OK(api_.cuCtxSetCurrent(second));
  CUdeviceptr small = 0;
  ASSERT_OK(api_.cuMemAlloc_v2(&small, 256));
  const auto operations = [this](int device) { return drivers_.status().device[device].operations.load(); };
  const std::int64_t first_before = operations(0), second_before = operations(1);
  for (int i = 0; i < 3; ++i) ASSERT_OK(api_.cuMemsetD8Async(small, 1, 256, nullptr));
  ASSERT_OK(api_.cuCtxSynchronize());
  EXPECT_EQ(first_before, operations(0));
  EXPECT_EQ(second_before + 3, operations(1));
  ASSERT_OK(api_.cuMemFree_v2(small));
  ASSERT_OK(api_.cuDevicePrimaryCtxReset_v2(1));
  ASSERT_OK(api_.cuCtxSetCurrent(context_));
}

}  // namespace
}  // namespace tferry::runtime_test
