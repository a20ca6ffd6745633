// Run with the runtime library preloaded: whichever way a program finds the driver's functions, it finds the
// hooks, and everything that is no hook it finds untouched (ALGORITHMS.md, rule 8).
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>
#include <string>

namespace {

// cuda.h has given the first form's name to the second.
using GetProcAddress = decltype(&cuGetProcAddress_v2);
using GetProcAddress1 = CUresult (*)(const char*, void**, int, cuuint64_t);

/// The file name of the object that an address lies in.
std::string object_of(void* address) {
  Dl_info info;
  if (address == nullptr || dladdr(address, &info) == 0) return "nowhere";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

class LookedUp : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(nullptr, driver_) << dlerror();
    const auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(driver_, "cuInit"));
    ASSERT_EQ(CUDA_SUCCESS, init(0));
  }
  std::string by_handle(const char* name) { return object_of(dlsym(driver_, name)); }
  std::string by_address(const char* name, cuuint64_t flags = 0, int version = 12000) {
    const auto get = reinterpret_cast<GetProcAddress>(dlsym(driver_, "cuGetProcAddress_v2"));
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(CUDA_SUCCESS, get(name, &found, version, flags, &status)) << name;
    return object_of(found);
  }

  void* driver_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const std::string hook_ = "libtferry_runtime.so";
  const std::string real_ = "libcuda.so.1";
};

TEST_F(LookedUp, ByHandle) {
  EXPECT_EQ(hook_, by_handle("cuMemAlloc_v2"));
  EXPECT_EQ(hook_, by_handle("cuLaunchKernel_ptsz"));
  EXPECT_EQ(hook_, by_handle("cuGetProcAddress_v2"));
  EXPECT_EQ(real_, by_handle("cuInit"));
}

TEST_F(LookedUp, ByPseudoHandle) {
  EXPECT_EQ(hook_, object_of(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2")));
  EXPECT_EQ(hook_, object_of(dlsym(RTLD_NEXT, "cuMemAlloc_v2")));
}

// cudaDeviceSynchronize of CUDA 13 asks for the newer form; unhooked, it waited for all our evictions.
TEST_F(LookedUp, EveryVersionOfAHookIsOne) {
  for (const int version : {12000, 12080, 13000, 13010}) {
    for (const char* name :
         {"cuCtxSynchronize", "cuMemAlloc", "cuMemFree", "cuLaunchKernel", "cuLaunchKernelEx",
          "cuMemcpyDtoHAsync", "cuStreamBeginCapture", "cuMemGetInfo"}) {
      EXPECT_EQ(hook_, by_address(name, 0, version)) << name << " of " << version;
    }
  }
}

TEST_F(LookedUp, ByCuGetProcAddress) {
  EXPECT_EQ(hook_, by_address("cuMemAlloc"));
  EXPECT_EQ(hook_, by_address("cuLaunchKernel"));
  EXPECT_EQ(hook_, by_address("cuGetProcAddress"));
  EXPECT_EQ(real_, by_address("cuInit"));
  EXPECT_EQ(real_, by_address("cuDeviceGetCount"));
}

TEST_F(LookedUp, PerThreadFormsAreHooksOfTheirOwn) {
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(driver_, "cuGetProcAddress_v2"));
  for (const char* name : {"cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemsetD8Async", "cuMemAllocAsync"}) {
    void* legacy = nullptr;
    void* of_thread = nullptr;
    ASSERT_EQ(CUDA_SUCCESS, get(name, &legacy, 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, nullptr));
    ASSERT_EQ(CUDA_SUCCESS,
              get(name, &of_thread, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr));
    EXPECT_NE(legacy, of_thread) << name;
    EXPECT_EQ(hook_, object_of(legacy)) << name;
    EXPECT_EQ(hook_, object_of(of_thread)) << name;
  }
}

// Programs built before CUDA 12 ask by the first form of cuGetProcAddress, and find it by name or by itself.
TEST_F(LookedUp, ByTheFirstFormOfCuGetProcAddress) {
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(driver_, "cuGetProcAddress_v2"));
  void* by_itself = nullptr;
  ASSERT_EQ(CUDA_SUCCESS, get("cuGetProcAddress", &by_itself, 11040, 0, nullptr));
  for (void* form : {dlsym(driver_, "cuGetProcAddress"), by_itself}) {
    EXPECT_EQ(hook_, object_of(form));
    void* found = nullptr;
    ASSERT_EQ(CUDA_SUCCESS, reinterpret_cast<GetProcAddress1>(form)("cuMemAlloc", &found, 11040, 0));
    EXPECT_EQ(hook_, object_of(found));
  }
}

// Hooks matched by the prefix "cu" caught cuDNN's functions and recursed.
TEST_F(LookedUp, HamiCore215_NamesThatOnlyBeginLikeAHookAreNotHooked) {
  void* self = dlopen(nullptr, RTLD_NOW);
  for (const char* name : {"cuMemAlloc_v2_of_ours", "cudnnCreate", "cuMem", "cu", ""}) {
    EXPECT_EQ(nullptr, dlsym(self, name)) << name;
    EXPECT_EQ(nullptr, dlsym(driver_, name)) << name;
  }
}

// A driver's upgrade brought entry points that the interposer did not know, and the program hung.
TEST_F(LookedUp, HamiCore52_UnknownEntryPointsPassUntouched) {
  for (const char* name : {"cuStreamGetPriority", "cuFuncGetModule", "cuGraphUpload"})
    EXPECT_EQ(real_, by_address(name)) << name;
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(driver_, "cuGetProcAddress_v2"));
  void* found = &found;
  CUdriverProcAddressQueryResult status{};
  get("cuFromTheFuture", &found, 12000, 0, &status);
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
}

TEST_F(LookedUp, AMissingNameLeavesItsErrorBehind) {
  dlerror();
  EXPECT_EQ(nullptr, dlsym(driver_, "cuNoSuchFunction"));
  EXPECT_NE(nullptr, dlerror());
  EXPECT_NE(nullptr, dlsym(driver_, "cuMemAlloc_v2"));
  EXPECT_EQ(nullptr, dlerror());
}

}  // namespace
