#include "tests/software_driver/driver_fixture.hpp"

#include <cstdlib>

namespace tferry::software_driver {
namespace {

/// Adds a value to each word: add(words, count, value).
void add(const SwdLaunch* launch) {
  auto* words = *static_cast<std::uint32_t* const*>(launch->parameters[0]);
  const auto count = *static_cast<const std::uint64_t*>(launch->parameters[1]);
  const auto value = *static_cast<const std::uint32_t*>(launch->parameters[2]);
  for (std::uint64_t i = 0; i < count; ++i) words[i] += value;
}

// Before the first call of the driver, which reads them; a setting of the caller's wins.
[[maybe_unused]] const bool environment_set = [] {
  setenv("SWD_GRANULARITY", "65536", 0);
  setenv("SWD_DEVICE_MEMORY", "67108864", 0);
  setenv("SWD_DEVICES", "2", 0);
  return true;
}();

}  // namespace

void DriverTest::SetUp() {
  ASSERT_OK(cuInit(0));
  swd_clear_faults();
  swd_clear_calls();
  swd_set_jitter(0);
  swd_set_copy_rates(55, 55);
  const SwdParameter layout[] = {{0, 8}, {8, 8}, {16, 4}};
  ASSERT_EQ(0, swd_register_kernel("add", add, layout, 3, 1000));
  ASSERT_OK(cuDevicePrimaryCtxRetain(&context_, 0));
  ASSERT_OK(cuCtxSetCurrent(context_));
}

void DriverTest::TearDown() {
  swd_clear_faults();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_OK(cuDevicePrimaryCtxReset(0));
  EXPECT_OK(cuCtxSetCurrent(nullptr));
  for (const auto& [base, size] : reserved_) {
    for (CUdeviceptr at = base; at < base + size; at += kGranule) {
      CUmemGenericAllocationHandle handle = 0;
      CUdeviceptr start = 0;
      std::size_t length = 0;
      if (cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(at)) != CUDA_SUCCESS) continue;
      EXPECT_OK(cuMemRelease(handle));
      EXPECT_OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at));
      EXPECT_OK(cuPointerGetAttribute(&length, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at));
      EXPECT_OK(cuMemUnmap(start, length));
    }
    EXPECT_OK(cuMemAddressFree(base, size));
  }
  for (const auto handle : handles_) cuMemRelease(handle);
  EXPECT_EQ(0U, statistics().mappings);
  EXPECT_EQ(0U, statistics().memory_used);
}

SwdStatistics DriverTest::statistics() {
  SwdStatistics all{};
  EXPECT_EQ(0, swd_statistics(0, &all));
  return all;
}

CUmemAllocationProp DriverTest::on_device(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

CUmemAllocationProp DriverTest::on_host() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  return prop;
}

CUdeviceptr DriverTest::reserve(std::size_t granules) {
  CUdeviceptr base = 0;
  EXPECT_OK(cuMemAddressReserve(&base, granules * kGranule, 0, 0, 0));
  if (base) reserved_.push_back({base, granules * kGranule});
  return base;
}

CUmemGenericAllocationHandle DriverTest::create(std::size_t granules, const CUmemAllocationProp& prop) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_OK(cuMemCreate(&handle, granules * kGranule, &prop, 0));
  handles_.push_back(handle);
  return handle;
}

void DriverTest::allow(CUdeviceptr base, std::size_t granules) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_OK(cuMemSetAccess(base, granules * kGranule, &access, 1));
}

CUdeviceptr DriverTest::mapped(std::size_t granules, const CUmemAllocationProp& prop) {
  const CUdeviceptr base = reserve(granules);
  EXPECT_OK(cuMemMap(base, granules * kGranule, 0, create(granules, prop), 0));
  allow(base, granules);
  return base;
}

CUstream DriverTest::stream(unsigned flags) {
  CUstream made = nullptr;
  EXPECT_OK(cuStreamCreate(&made, flags));
  return made;
}

CUevent DriverTest::event(unsigned flags) {
  CUevent made = nullptr;
  EXPECT_OK(cuEventCreate(&made, flags));
  return made;
}

CUfunction DriverTest::function(const char* name) {
  CUmodule module = nullptr;
  CUfunction found = nullptr;
  EXPECT_OK(cuModuleLoadData(&module, "any image"));
  EXPECT_OK(cuModuleGetFunction(&found, module, name));
  return found;
}

std::vector<std::uint32_t> DriverTest::words_at(CUdeviceptr address, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  EXPECT_OK(cuMemcpyDtoH(words.data(), address, count * sizeof(std::uint32_t)));
  return words;
}

}  // namespace tferry::software_driver
