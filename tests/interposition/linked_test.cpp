// Linked to libcuda by name and run with the runtime library preloaded: the hooks are in front of it.
#include "tests/software_driver/control.hpp"

#include <cuda.h>
#include <gtest/gtest.h>

namespace {

TEST(Linked, AllocationsAreServedByTheRuntime) {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(CUDA_SUCCESS, cuInit(0));
  ASSERT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context));
  ASSERT_EQ(CUDA_SUCCESS, cuMemAlloc(&memory, 8 << 20));
  SwdStatistics statistics{};
  ASSERT_EQ(0, swd_statistics(0, &statistics));
  EXPECT_EQ(0U, statistics.allocations) << "the driver was asked itself";
  EXPECT_LT(0U, statistics.chunks);
  EXPECT_EQ(CUDA_SUCCESS, cuMemsetD8(memory, 3, 8 << 20));
  unsigned char last = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&last, memory + (8 << 20) - 1, 1));
  EXPECT_EQ(3, last);
  EXPECT_EQ(CUDA_SUCCESS, cuMemFree(memory));
}

}  // namespace
