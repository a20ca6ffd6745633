#include "tests/software_driver/driver_fixture.hpp"
#include "tests/software_driver/pages.hpp"

#include <atomic>
#include <thread>

namespace tferry::software_driver {
namespace {

class MemoryTest : public DriverTest {
 protected:
  CUdeviceptr allocate(std::size_t size) {
    CUdeviceptr base = 0;
    EXPECT_OK(cuMemAlloc(&base, size));
    return base;
  }

  template <class T>
  static T attribute(CUpointer_attribute which, CUdeviceptr address) {
    T value{};
    EXPECT_OK(cuPointerGetAttribute(&value, which, address));
    return value;
  }
};

TEST_F(MemoryTest, AllocationsCountAgainstTheDevice) {
  ASSERT_EQ(0, swd_set_device_memory(0, 4 * kGranule));
  const CUdeviceptr big = allocate(3 * kGranule);
  CUdeviceptr more = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, 2 * kGranule));
  EXPECT_OK(cuMemFree(big));
  EXPECT_OK(cuMemAlloc(&more, 2 * kGranule));
  EXPECT_EQ(2 * kGranule, statistics().memory_used);
  ASSERT_EQ(0, swd_set_device_memory(0, 64U << 20));
}

TEST_F(MemoryTest, SmallAllocationsShareBlocks) {
  for (int i = 0; i < 16; ++i) EXPECT_EQ(0U, allocate(100) % 512);
  EXPECT_EQ(kGranule, statistics().memory_used);
}

TEST_F(MemoryTest, FreeingTwiceOrInTheMiddleIsRefused) {
  const CUdeviceptr base = allocate(1000);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFree(base + 8));
  EXPECT_OK(cuMemFree(base));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFree(base));
  EXPECT_OK(cuMemFree(0));
}

TEST_F(MemoryTest, FreeWaitsForAllWorkOfTheDevice) {
  const CUdeviceptr base = allocate(2 * kGranule);
  const CUstream late = stream();
  std::atomic<bool> ran{false};
  bool ran_before_free_returned = false;
  Gate gate;
  gate.close_after(late);
  ASSERT_OK(cuMemsetD8Async(base, 1, 2 * kGranule, late));
  ASSERT_OK(cuLaunchHostFunc(late, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran));
  std::thread freeing([&] {
    EXPECT_OK(cuCtxSetCurrent(context_));
    EXPECT_OK(cuMemFree(base));
    ran_before_free_returned = ran;
  });
  gate.open();
  freeing.join();
  EXPECT_TRUE(ran_before_free_returned);
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(MemoryTest, WritingPastALargeAllocationFaults) {
  const CUdeviceptr base = allocate(2 * kGranule);
  ASSERT_OK(cuMemsetD8(base, 1, 2 * kGranule + 1));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

TEST_F(MemoryTest, AStreamOrderedFreeTakesEffectInOrder) {
  const CUstream plain = stream();
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAllocAsync(&base, 2 * kGranule, plain));
  ASSERT_OK(cuMemsetD32Async(base, 3, 1, plain));
  std::uint32_t seen = 0;
  ASSERT_OK(cuMemcpyDtoHAsync(&seen, base, 4, plain));
  Gate gate;
  gate.close_after(plain);
  ASSERT_OK(cuMemFreeAsync(base, plain));
  EXPECT_EQ(2 * kGranule, statistics().memory_used);
  gate.open();
  ASSERT_OK(cuStreamSynchronize(plain));
  EXPECT_EQ(3U, seen);
  EXPECT_EQ(0U, statistics().memory_used);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(base, plain));
}

TEST_F(MemoryTest, UseAfterAStreamOrderedFreeFaults) {
  const CUstream plain = stream();
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAllocAsync(&base, 2 * kGranule, plain));
  Gate gate;
  gate.close_after(plain);
  ASSERT_OK(cuMemsetD8Async(base, 1, 1, plain));
  ASSERT_OK(cuMemcpyDtoDAsync(base + 64, base, 64, plain));
  EXPECT_OK(cuMemFreeAsync(base, plain));
  CUdeviceptr other = 0;
  ASSERT_OK(cuMemAllocAsync(&other, 2 * kGranule, plain));
  gate.open();
  ASSERT_OK(cuStreamSynchronize(plain));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(base, 1, 1, plain))
      << "no allocation is there any more";
}

TEST_F(MemoryTest, AllocationWaitsForFreesThatAreUnderWay) {
  ASSERT_EQ(0, swd_set_device_memory(0, 4 * kGranule));
  const CUstream plain = stream();
  for (int i = 0; i < 50; ++i) {
    CUdeviceptr base = 0;
    ASSERT_OK(cuMemAllocAsync(&base, 3 * kGranule, plain));
    ASSERT_OK(cuMemsetD8Async(base, 1, 3 * kGranule, plain));
    ASSERT_OK(cuMemFreeAsync(base, plain));
  }
  ASSERT_OK(cuStreamSynchronize(plain));
  ASSERT_EQ(0, swd_set_device_memory(0, 64U << 20));
}

TEST_F(MemoryTest, PoolsCountWhatIsUsed) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  const auto value = [&](CUmemPool_attribute which) {
    cuuint64_t bytes = 0;
    EXPECT_OK(cuMemPoolGetAttribute(pool, which, &bytes));
    return bytes;
  };
  cuuint64_t zero = 0, threshold = 1 << 20;
  ASSERT_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  ASSERT_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  EXPECT_EQ(threshold, value(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAllocAsync(&base, kGranule, nullptr));
  EXPECT_EQ(kGranule, value(CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EXPECT_EQ(pool, attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, base));
  ASSERT_OK(cuMemFreeAsync(base, nullptr));
  ASSERT_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(0U, value(CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EXPECT_EQ(kGranule, value(CU_MEMPOOL_ATTR_USED_MEM_HIGH));
}

TEST_F(MemoryTest, PointersOfDeviceMemoryAreDescribed) {
  const CUdeviceptr base = allocate(1000);
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_DEVICE}, attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 8));
  EXPECT_EQ(base, attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + 8));
  EXPECT_EQ(1000U, attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + 8));
  EXPECT_EQ(context_, attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, base));
  EXPECT_EQ(1U, attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, base));
  EXPECT_NE(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, base),
            attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, allocate(1000)));
  CUdeviceptr start = 0;
  std::size_t size = 0;
  EXPECT_OK(cuMemGetAddressRange(&start, &size, base + 999));
  EXPECT_EQ(base, start);
  EXPECT_EQ(1000U, size);
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&start, &size, base + 1000));
}

TEST_F(MemoryTest, PointersOfMappingsAreDescribed) {
  const CUdeviceptr base = mapped(2);
  EXPECT_EQ(base, attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + kGranule));
  EXPECT_EQ(2 * kGranule, attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, base));
  EXPECT_EQ(0U, attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, base));
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_HOST},
            attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mapped(1, on_host())));
}

TEST_F(MemoryTest, UnknownPointersHaveNoAttributes) {
  int here = 0;
  unsigned type = 7, managed = 7;
  const auto address = reinterpret_cast<CUdeviceptr>(&here);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* data[] = {&type, &managed};
  EXPECT_OK(cuPointerGetAttributes(2, which, data, address));
  EXPECT_EQ(0U, type);
  EXPECT_EQ(0U, managed);
}

TEST_F(MemoryTest, HostMemoryIsPinnedReadableAndFreed) {
  void* memory = nullptr;
  ASSERT_OK(cuMemHostAlloc(&memory, 1000, CU_MEMHOSTALLOC_PORTABLE));
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_HOST}, attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  CUdeviceptr on_device = 0;
  EXPECT_OK(cuMemHostGetDevicePointer(&on_device, memory, 0));
  EXPECT_EQ(address, on_device);
  unsigned flags = 0;
  EXPECT_OK(cuMemHostGetFlags(&flags, memory));
  EXPECT_EQ(unsigned{CU_MEMHOSTALLOC_PORTABLE}, flags);
  EXPECT_EQ(0U, statistics().memory_used);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
  EXPECT_OK(cuMemFreeHost(memory));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(memory));
}

TEST_F(MemoryTest, RegisteredMemoryIsKnownUntilUnregistered) {
  std::vector<char> memory(5000);
  ASSERT_OK(cuMemHostRegister(memory.data(), memory.size(), 0));
  EXPECT_CUDA(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(memory.data() + 100, 10, 0));
  const auto address = reinterpret_cast<CUdeviceptr>(memory.data());
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_HOST}, attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  EXPECT_OK(cuMemHostUnregister(memory.data()));
  EXPECT_CUDA(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory.data()));
}

TEST_F(MemoryTest, ManagedMemoryRemembersItsLastPrefetch) {
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAllocManaged(&base, kGranule, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(1U, attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, base));
  const auto where = [&] {
    int device = 0;
    EXPECT_OK(cuMemRangeGetAttribute(&device, sizeof device, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
                                     base, kGranule));
    return device;
  };
  EXPECT_EQ(CU_DEVICE_INVALID, where());
  ASSERT_OK(cuMemPrefetchAsync(base, kGranule, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, nullptr));
  ASSERT_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(0, where());
  ASSERT_OK(cuMemPrefetchAsync(base, kGranule, {CU_MEM_LOCATION_TYPE_HOST, 0}, 0, nullptr));
  ASSERT_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(CU_DEVICE_CPU, where());
  EXPECT_OK(cuMemFree(base));
}

TEST_F(MemoryTest, PagesOfManagedMemoryThatAreOnTheHostFaultWhereAKernelTouchesThem) {
  constexpr std::size_t kSize = 4 * 65536;
  static std::vector<SwdPageEvent> events;
  events.clear();
  static constexpr SwdObserver kObserver{nullptr,
                                         [](const SwdPageEvent* event) { events.push_back(*event); }};
  swd_observe(&kObserver);
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAllocManaged(&base, kSize, CU_MEM_ATTACH_GLOBAL));
  ASSERT_OK(cuMemsetD8(base, 7, kSize));
  ASSERT_OK(cuMemPrefetchAsync(base, kSize, {CU_MEM_LOCATION_TYPE_HOST, 0}, 0, nullptr));
  const SwdParameter parameters[] = {{0, 8}};
  ASSERT_EQ(0, swd_register_kernel(
                   "reads_and_writes",
                   [](const SwdLaunch* launch) {
                     auto* bytes = *static_cast<volatile unsigned char* const*>(launch->parameters[0]);
                     bytes[1] = bytes[2 * 65536 + 5];
                     bytes[2] = bytes[1];
                   },
                   parameters, 1, 0));
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(cuModuleLoadData(&module, "any"));
  ASSERT_OK(cuModuleGetFunction(&function, module, "reads_and_writes"));
  void* values[] = {&base};
  ASSERT_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr));
  unsigned char byte = 0;
  ASSERT_OK(cuMemcpyDtoH(&byte, base + kSize - 1, 1));  // a copy makes no fault of a kernel
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(7, byte);
  std::erase_if(events, [](const SwdPageEvent& event) { return event.prefetch != 0; });
  ASSERT_EQ(4U, events.size());
  EXPECT_EQ(int{SwdPageEvent::kFault}, events[0].kind);
  EXPECT_EQ(base + 2 * 65536, events[0].address);
  EXPECT_EQ(0, events[0].write);
  EXPECT_EQ(int{SwdPageEvent::kToDevice}, events[1].kind);
  EXPECT_EQ(65536U, events[1].bytes);
  EXPECT_EQ(base, events[2].address);
  EXPECT_EQ(1, events[2].write);
  EXPECT_OK(cuMemFree(base));
  swd_observe(nullptr);
}

TEST_F(MemoryTest, DiscardedManagedMemoryHasOtherContents) {
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAllocManaged(&base, kGranule, CU_MEM_ATTACH_GLOBAL));
  ASSERT_OK(cuMemsetD8(base, 7, kGranule));
  CUmemLocation host{.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
  std::size_t size = kGranule / 2, first = 0;
  ASSERT_OK(cuMemDiscardAndPrefetchBatchAsync(&base, &size, 1, &host, &first, 1, 0, nullptr));
  ASSERT_OK(cuStreamSynchronize(nullptr));
  const auto* bytes = reinterpret_cast<const unsigned char*>(base);
  EXPECT_NE(7, bytes[0]);
  EXPECT_EQ(7, bytes[kGranule / 2]);
  CUdeviceptr second = base + kGranule / 2;
  const CUstream plain = stream();
  ASSERT_OK(cuMemDiscardBatchAsync(&second, &size, 1, 0, plain));
  ASSERT_OK(cuStreamSynchronize(plain));
  EXPECT_NE(7, bytes[kGranule / 2]);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(&second, &size, 1, 0, nullptr))
      << "a stream of its own";
  EXPECT_OK(cuMemFree(base));
}

TEST_F(MemoryTest, DestroyingAContextFreesWhatItOwns) {
  CUcontext own = nullptr;
  ASSERT_OK(cuCtxCreate(&own, nullptr, 0, 0));
  allocate(2 * kGranule);
  const CUstream plain = stream();
  ASSERT_OK(cuCtxDestroy(own));
  EXPECT_EQ(0U, statistics().memory_used);
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(plain));
  CUcontext now = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&now));
  EXPECT_EQ(context_, now);
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(context_))
      << "the primary context is released, not destroyed";
}

TEST_F(MemoryTest, CallsWithoutAContextAreRefused) {
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  CUdeviceptr base = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&base, 4));
  CUmemGenericAllocationHandle handle = 0;
  const auto prop = on_device();
  EXPECT_OK(cuMemCreate(&handle, kGranule, &prop, 0)) << "virtual memory management needs none";
  EXPECT_OK(cuMemRelease(handle));
}

}  // namespace
}  // namespace tferry::software_driver
