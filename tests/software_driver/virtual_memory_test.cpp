#include "tests/software_driver/driver_fixture.hpp"

#include <filesystem>
#include <iterator>

namespace tferry::software_driver {
namespace {

class VirtualMemoryTest : public DriverTest {};

TEST_F(VirtualMemoryTest, AliasesOfOneHandleSeeTheSameBytes) {
  const auto handle = create(2);
  const CUdeviceptr first = reserve(2);
  const CUdeviceptr second = reserve(2);
  for (const CUdeviceptr base : {first, second}) {
    ASSERT_OK(cuMemMap(base, 2 * kGranule, 0, handle, 0));
    allow(base, 2);
  }
  ASSERT_OK(cuMemsetD32(first, 42, 2 * kGranule / 4));
  EXPECT_EQ(42U, word_at(second));
  EXPECT_EQ(42U, word_at(second + 2 * kGranule - 4));
}

TEST_F(VirtualMemoryTest, AMappingWithoutAccessFaultsAndTheErrorStays) {
  const CUdeviceptr base = reserve(1);
  ASSERT_OK(cuMemMap(base, kGranule, 0, create(1), 0));
  const auto before = statistics().illegal_accesses;
  ASSERT_OK(cuMemsetD8Async(base, 1, kGranule, stream()));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  CUdeviceptr unused = 0;
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&unused, 4));
  EXPECT_EQ(before + 1, statistics().illegal_accesses);
  EXPECT_EQ(base, swd_last_illegal_address());
}

TEST_F(VirtualMemoryTest, ResettingTheContextEndsItsError) {
  ASSERT_OK(cuMemsetD8Async(reserve(1), 1, 1, stream()));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  ASSERT_OK(cuDevicePrimaryCtxReset(0));
  ASSERT_OK(cuDevicePrimaryCtxRetain(&context_, 0));
  ASSERT_OK(cuCtxSetCurrent(context_));
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(VirtualMemoryTest, UnmappingActsAtOnceEvenUnderQueuedWork) {
  const CUdeviceptr base = mapped(1);
  const CUstream late = stream();
  Gate gate;
  gate.close_after(late);
  ASSERT_OK(cuMemsetD8Async(base, 1, kGranule, late));
  ASSERT_OK(cuMemUnmap(base, kGranule));
  gate.open();
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(late));
}

TEST_F(VirtualMemoryTest, ReadOnlyAccessLetsCopiesReadButNotWrite) {
  const CUdeviceptr base = mapped(1);
  ASSERT_OK(cuMemsetD32(base, 7, 4));
  ASSERT_OK(cuCtxSynchronize());
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  ASSERT_OK(cuMemSetAccess(base, kGranule, &access, 1));
  EXPECT_EQ(7U, word_at(base));
  ASSERT_OK(cuMemsetD32(base, 8, 4));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

TEST_F(VirtualMemoryTest, MapTakesWholeHandlesAtFreeAddressesOnly) {
  const auto handle = create(2);
  const CUdeviceptr base = reserve(4);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, kGranule, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, kGranule, kGranule, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(base + 3 * kGranule, 2 * kGranule, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(base + 4096, 2 * kGranule, 0, handle, 0));
  ASSERT_OK(cuMemMap(base + kGranule, 2 * kGranule, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, 2 * kGranule, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(base + 2 * kGranule, 2 * kGranule, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(base, 4 * kGranule));
}

TEST_F(VirtualMemoryTest, UnmapTakesWholeMappingsOneOrSeveral) {
  const CUdeviceptr base = reserve(4);
  ASSERT_OK(cuMemMap(base, 2 * kGranule, 0, create(2), 0));
  ASSERT_OK(cuMemMap(base + 2 * kGranule, 2 * kGranule, 0, create(2), 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(base, kGranule));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(base + kGranule, 2 * kGranule));
  EXPECT_OK(cuMemUnmap(base, 4 * kGranule));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(base, 2 * kGranule));
}

TEST_F(VirtualMemoryTest, AReleasedHandleLivesAsLongAsItsMappings) {
  const auto prop = on_device();
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_OK(cuMemCreate(&handle, kGranule, &prop, 0));
  const CUdeviceptr base = reserve(1);
  ASSERT_OK(cuMemMap(base, kGranule, 0, handle, 0));
  allow(base, 1);
  ASSERT_OK(cuMemRelease(handle));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
  EXPECT_EQ(kGranule, statistics().memory_used);
  EXPECT_EQ(0U, statistics().chunks);
  ASSERT_OK(cuMemsetD8(base, 1, kGranule));
  ASSERT_OK(cuCtxSynchronize());
  ASSERT_OK(cuMemUnmap(base, kGranule));
  EXPECT_EQ(0U, statistics().memory_used);
}

TEST_F(VirtualMemoryTest, RetainedHandlesCountReferences) {
  const CUdeviceptr base = mapped(1);
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_OK(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(base + 100)));
  CUmemAllocationProp prop{};
  ASSERT_OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
  EXPECT_EQ(CU_MEM_LOCATION_TYPE_DEVICE, prop.location.type);
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_EQ(1U, statistics().chunks);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle(&handle, &prop));
}

TEST_F(VirtualMemoryTest, ADeviceGivesNoMoreThanItHas) {
  ASSERT_EQ(0, swd_set_device_memory(0, 4 * kGranule));
  const auto prop = on_device();
  create(3);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, 2 * kGranule, &prop, 0));
  EXPECT_OK(cuMemCreate(&handle, kGranule, &prop, 0));
  std::size_t free = 1, total = 0;
  EXPECT_OK(cuMemGetInfo(&free, &total));
  EXPECT_EQ(0U, free);
  EXPECT_EQ(4 * kGranule, total);
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemGetInfo(&free, &total));
  EXPECT_EQ(kGranule, free);
  ASSERT_EQ(0, swd_set_device_memory(0, 64U << 20));
}

TEST_F(VirtualMemoryTest, HostChunksAreNotDeviceMemoryAndCopiesToThemCrossTheLink) {
  const CUdeviceptr on_card = mapped(1);
  const CUdeviceptr parked = mapped(1, on_host());
  const auto before = statistics();
  EXPECT_EQ(kGranule, before.memory_used);
  EXPECT_EQ(kGranule, before.host_chunks_used);
  ASSERT_OK(cuMemsetD32(on_card, 5, kGranule / 4));
  ASSERT_OK(cuMemcpyDtoDAsync(parked, on_card, kGranule, nullptr));
  ASSERT_OK(cuMemcpyAsync(on_card, parked, kGranule, nullptr));
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(5U, word_at(parked));
  const auto after = statistics();
  EXPECT_EQ(static_cast<std::int64_t>(kGranule), after.d2h_bytes - before.d2h_bytes);
  EXPECT_EQ(static_cast<std::int64_t>(kGranule), after.h2d_bytes - before.h2d_bytes);
}

TEST_F(VirtualMemoryTest, EveryHostLocationIsTaken) {
  for (const auto type :
       {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT}) {
    CUmemAllocationProp prop = on_host();
    prop.location.type = type;
    std::size_t granularity = 0;
    EXPECT_OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT_EQ(kGranule, granularity);
    create(1, prop);
  }
  CUmemAllocationProp nowhere = on_device(7);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, kGranule, &nowhere, 0));
}

TEST_F(VirtualMemoryTest, AccessIsToldByLocation) {
  const CUdeviceptr base = mapped(1);
  unsigned long long flags = 0;
  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_OK(cuMemGetAccess(&flags, &location, base));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, static_cast<int>(flags));
  location.id = 1;
  EXPECT_OK(cuMemGetAccess(&flags, &location, base));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_NONE, static_cast<int>(flags));
}

TEST_F(VirtualMemoryTest, SetAccessOnAGapFailsWithoutEffect) {
  const CUdeviceptr base = reserve(2);
  ASSERT_OK(cuMemMap(base, kGranule, 0, create(1), 0));
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(base, 2 * kGranule, &access, 1));
  ASSERT_OK(cuMemsetD8(base, 1, 1));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

TEST_F(VirtualMemoryTest, ManyHandlesNeedNoFilesOfTheirOwn) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  create(1);
  const auto before = open_files();
  for (int i = 0; i < 200; ++i) create(1);
  EXPECT_EQ(before, open_files());
}

TEST_F(VirtualMemoryTest, HandlesAreNeverUsedTwice) {
  const auto prop = on_device();
  CUmemGenericAllocationHandle first = 0, second = 0;
  ASSERT_OK(cuMemCreate(&first, kGranule, &prop, 0));
  ASSERT_OK(cuMemRelease(first));
  ASSERT_OK(cuMemCreate(&second, kGranule, &prop, 0));
  EXPECT_NE(first, second);
  EXPECT_OK(cuMemRelease(second));
}

TEST_F(VirtualMemoryTest, SixteenTebibytesCanBeReservedOrAreRefusedCleanly) {
  CUdeviceptr base = 0;
  constexpr std::size_t kHuge = std::size_t{16} << 40;
  const CUresult result = cuMemAddressReserve(&base, kHuge, 0, 0, 0);
#if defined(__SANITIZE_THREAD__)
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, result);
#else
  ASSERT_OK(result);
  ASSERT_OK(cuMemMap(base + kHuge - kGranule, kGranule, 0, create(1), 0));
  allow(base + kHuge - kGranule, 1);
  ASSERT_OK(cuMemsetD32(base + kHuge - kGranule, 3, 1));
  EXPECT_EQ(3U, word_at(base + kHuge - kGranule));
  ASSERT_OK(cuMemUnmap(base + kHuge - kGranule, kGranule));
  ASSERT_OK(cuMemAddressFree(base, kHuge));
#endif
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, cuMemAddressReserve(&base, std::size_t{1} << 60, 0, 0, 0));
}

TEST_F(VirtualMemoryTest, ReservationsAreAlignedAndHintsAreTakenWhereFree) {
  CUdeviceptr base = 0, again = 0;
  ASSERT_OK(cuMemAddressReserve(&base, kGranule, std::size_t{1} << 30, 0, 0));
  EXPECT_EQ(0U, base % (std::size_t{1} << 30));
  ASSERT_OK(cuMemAddressReserve(&again, kGranule, 0, base, 0));
  EXPECT_NE(base, again);
  ASSERT_OK(cuMemAddressFree(again, kGranule));
  ASSERT_OK(cuMemAddressFree(base, kGranule));
  ASSERT_OK(cuMemAddressReserve(&again, kGranule, 0, base, 0));
  EXPECT_EQ(base, again);
  ASSERT_OK(cuMemAddressFree(again, kGranule));
}

TEST_F(VirtualMemoryTest, PoisonedMemoryIsNotZero) {
  swd_set_poison(1);
  EXPECT_EQ(0xa5a5a5a5U, word_at(mapped(1)));
  swd_set_poison(0);
  EXPECT_EQ(0U, word_at(mapped(1)));
}

TEST_F(VirtualMemoryTest, HandlesCannotBeExported) {
  int file = -1;
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED,
              cuMemExportToShareableHandle(&file, create(1), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

}  // namespace
}  // namespace tferry::software_driver
