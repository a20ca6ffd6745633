#include "tests/software_driver/driver_fixture.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tferry::software_driver {
namespace {

class EntryTest : public DriverTest {
 protected:
  struct Found {
    CUresult result;
    void* function;
    CUdriverProcAddressQueryResult status;
  };
  static Found find(const char* name, int version = 13000, cuuint64_t flags = 0) {
    Found found{};
    found.result = cuGetProcAddress(name, &found.function, version, flags, &found.status);
    return found;
  }
};

void* exported(const std::string& name) { return dlsym(RTLD_DEFAULT, name.c_str()); }

TEST_F(EntryTest, EveryEntryPointIsCountedAndCanBeMadeToFail) {
  // With a fault due, a call ends before it looks at its arguments.
  using AnyCall =
      CUresult (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                   std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);
  unsigned count = 0;
  for (; const char* name = swd_function_name(count); ++count) {
    for (const char* form : {"", "_ptsz", "_ptds"}) {
      auto* function = reinterpret_cast<AnyCall>(exported(std::string(name) + form));
      if (!function) {
        EXPECT_STRNE("", form) << name << " is in the list and not exported";
        continue;
      }
      const std::int64_t before = swd_calls(name);
      ASSERT_EQ(0, swd_fail(name, 1, CUDA_ERROR_SYSTEM_NOT_READY, 0));
      EXPECT_EQ(CUDA_ERROR_SYSTEM_NOT_READY, function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) << name << form;
      EXPECT_EQ(before + 1, swd_calls(name)) << name << form;
    }
  }
  EXPECT_LT(150U, count);
  EXPECT_EQ(-1, swd_calls("cuMemAllocate"));
}

TEST_F(EntryTest, TheNthCallFailsWithoutEffect) {
  const auto prop = on_device();
  CUmemGenericAllocationHandle handles[4] = {};
  ASSERT_EQ(0, swd_fail("cuMemCreate", 3, CUDA_ERROR_OUT_OF_MEMORY, 0));
  EXPECT_OK(cuMemCreate(&handles[0], kGranule, &prop, 0));
  EXPECT_OK(cuMemCreate(&handles[1], kGranule, &prop, 0));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handles[2], kGranule, &prop, 0));
  EXPECT_EQ(2 * kGranule, statistics().memory_used);
  EXPECT_EQ(0U, handles[2]);
  EXPECT_OK(cuMemCreate(&handles[3], kGranule, &prop, 0));
  for (const int i : {0, 1, 3}) EXPECT_OK(cuMemRelease(handles[i]));
}

TEST_F(EntryTest, ACallCanBeForgottenWithoutAnError) {
  CUdeviceptr address = 0;
  ASSERT_EQ(0, swd_fail("cuMemsetD8_v2", 1, CUDA_SUCCESS, 0));
  EXPECT_OK(cuMemAlloc(&address, 4));
  std::uint32_t word = 0;
  EXPECT_OK(cuMemcpyHtoD(address, &word, 4));
  EXPECT_OK(cuMemsetD8(address, 1, 4));
  EXPECT_OK(cuMemcpyDtoH(&word, address, 4));
  EXPECT_EQ(0U, word);
  EXPECT_OK(cuMemsetD8(address, 1, 4));
  EXPECT_OK(cuMemcpyDtoH(&word, address, 4));
  EXPECT_EQ(0x01010101U, word);
  EXPECT_OK(cuMemFree(address));
}

TEST_F(EntryTest, AFaultCanLastUntilItIsCleared) {
  ASSERT_EQ(0, swd_fail("cuMemGetInfo_v2", 2, CUDA_ERROR_UNKNOWN, 1));
  std::size_t free = 0, total = 0;
  EXPECT_OK(cuMemGetInfo(&free, &total));
  EXPECT_CUDA(CUDA_ERROR_UNKNOWN, cuMemGetInfo(&free, &total));
  EXPECT_CUDA(CUDA_ERROR_UNKNOWN, cuMemGetInfo(&free, &total));
  swd_clear_faults();
  EXPECT_OK(cuMemGetInfo(&free, &total));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, swd_fail("cuMemGetInfos", 1, 1, 0));
}

TEST_F(EntryTest, NamesAreFoundWithoutTheirSuffixByVersion) {
  EXPECT_EQ(exported("cuMemAlloc_v2"), find("cuMemAlloc").function);
  EXPECT_EQ(exported("cuCtxCreate_v2"), find("cuCtxCreate", 11000).function);
  EXPECT_EQ(exported("cuCtxCreate_v4"), find("cuCtxCreate", 12060).function);
  EXPECT_EQ(exported("cuGetProcAddress"), find("cuGetProcAddress", 11060).function);
  EXPECT_EQ(exported("cuGetProcAddress_v2"), find("cuGetProcAddress").function);
  EXPECT_EQ(exported("cuGraphInstantiateWithFlags"), find("cuGraphInstantiate").function);
  EXPECT_EQ(exported("cuGraphInstantiateWithFlags"), find("cuGraphInstantiateWithFlags").function);
  const Found old = find("cuMemCreate", 9000);
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, old.result);
  EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, old.status);
}

TEST_F(EntryTest, PerThreadFormsAreGivenWhereAskedForAndThere) {
  const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_EQ(exported("cuLaunchKernel_ptsz"), find("cuLaunchKernel", 13000, per_thread).function);
  EXPECT_EQ(exported("cuMemcpyDtoH_v2_ptds"), find("cuMemcpyDtoH", 13000, per_thread).function);
  EXPECT_EQ(exported("cuMemAlloc_v2"), find("cuMemAlloc", 13000, per_thread).function);
  EXPECT_NE(exported("cuLaunchKernel_ptsz"), find("cuLaunchKernel").function);
}

TEST_F(EntryTest, UnknownNamesAreNotFound) {
  for (const char* name : {"cuMemAlloc_v2", "cuNothing", "", "cuArrayCreate"}) {
    const Found found = find(name);
    EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, found.result) << name;
    EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, found.status) << name;
    EXPECT_EQ(nullptr, found.function) << name;
  }
}

TEST_F(EntryTest, PerThreadFormsUseTheThreadsStream) {
  using Set = CUresult (*)(CUdeviceptr, unsigned char, std::size_t, CUstream);
  const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const auto set = reinterpret_cast<Set>(find("cuMemsetD8Async", 13000, per_thread).function);
  CUdeviceptr base = 0;
  ASSERT_OK(cuMemAlloc(&base, 16));
  Gate gate;
  gate.close_after(CU_STREAM_PER_THREAD);
  ASSERT_OK(set(base, 1, 16, nullptr));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
  gate.open();
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(EntryTest, ExportTablesAreNotThere) {
  const void* table = &table;
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, nullptr));
  EXPECT_EQ(nullptr, table);
}

TEST_F(EntryTest, ErrorsHaveNamesAndWords) {
  const char* text = nullptr;
  ASSERT_OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ("CUDA_ERROR_OUT_OF_MEMORY", text);
  ASSERT_OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ("out of memory", text);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(1001), &text));
  EXPECT_EQ(nullptr, text);
}

TEST_F(EntryTest, DevicesAreDescribed) {
  int count = 0, value = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(2, count);
  char id[32] = {};
  CUdevice found = -1;
  ASSERT_OK(cuDeviceGetPCIBusId(id, sizeof id, 1));
  ASSERT_OK(cuDeviceGetByPCIBusId(&found, id));
  EXPECT_EQ(1, found);
  ASSERT_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
  EXPECT_EQ(1, value);
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&found, 2));
}

// What the environment does is seen by a process that has not called the driver yet.
int result_of_init_with(const char* variable, const char* value) {
  setenv(variable, value, 1);
  return cuInit(0);
}

class EnvironmentDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EnvironmentDeathTest, CallsBeforeInitAreRefused) {
  EXPECT_EXIT(
      {
        int count = 0;
        std::exit(cuDeviceGetCount(&count));
      },
      ::testing::ExitedWithCode(CUDA_ERROR_NOT_INITIALIZED), "");
}

TEST_F(EnvironmentDeathTest, FaultsAreTakenFromTheEnvironment) {
  EXPECT_EXIT(
      {
        result_of_init_with("SWD_FAIL", "cuDriverGetVersion:2:99,cuDeviceGetCount:1+:46");
        int value = 0;
        const bool right = cuDriverGetVersion(&value) == 0 && cuDriverGetVersion(&value) == 99 &&
                           cuDriverGetVersion(&value) == 0 && cuDeviceGetCount(&value) == 46 &&
                           cuDeviceGetCount(&value) == 46;
        std::exit(right ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(EnvironmentDeathTest, AReportIsWrittenAtExit) {
  const std::string file = ::testing::TempDir() + "software_driver_report.%p";
  EXPECT_EXIT(
      {
        result_of_init_with("SWD_REPORT", file.c_str());
        int count = 0;
        cuDeviceGetCount(&count);
        cuDeviceGetCount(&count);
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(::testing::TempDir())) {
    if (entry.path().filename().string().rfind("software_driver_report.", 0) != 0) continue;
    std::ifstream input(entry.path());
    text.assign(std::istreambuf_iterator<char>(input), {});
    std::filesystem::remove(entry.path());
  }
  EXPECT_NE(std::string::npos, text.find("calls cuDeviceGetCount 2\n")) << text;
  EXPECT_NE(std::string::npos, text.find("statistic 1 memory_total 67108864\n")) << text;
}

TEST_F(EnvironmentDeathTest, WhatCannotBeUnderstoodStopsTheDriver) {
  EXPECT_EXIT(std::exit(result_of_init_with("SWD_FAIL", "cuMemCrate:1:2")),
              ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE), "no entry point is called 'cuMemCrate'");
  EXPECT_EXIT(std::exit(result_of_init_with("SWD_FAIL", "cuMemCreate:0:2")),
              ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE), "is not FUNCTION:NTH");
  EXPECT_EXIT(std::exit(result_of_init_with("SWD_DEVICE_MEMORY", "24GiB")),
              ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE), "SWD_DEVICE_MEMORY=24GiB is not a number");
  EXPECT_EXIT(std::exit(result_of_init_with("SWD_GRANULARITY", "100000")),
              ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE), "not a power of two");
  EXPECT_EXIT(std::exit(result_of_init_with("SWD_DEVICES", "0")),
              ::testing::ExitedWithCode(CUDA_ERROR_NO_DEVICE), "");
}

}  // namespace
}  // namespace tferry::software_driver
