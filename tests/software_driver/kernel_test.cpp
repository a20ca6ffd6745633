#include "tests/software_driver/driver_fixture.hpp"

namespace tferry::software_driver {
namespace {

class KernelTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    EXPECT_OK(cuMemAlloc(&words_, 64));
    EXPECT_OK(cuMemsetD32(words_, 10, 16));
  }

  void* values_[3] = {&words_, &count_, &value_};
  CUdeviceptr words_ = 0;
  std::uint64_t count_ = 2;
  std::uint32_t value_ = 5;
};

CUresult launch(CUfunction function, CUstream stream, void** values, void** extra = nullptr) {
  return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, values, extra);
}

TEST_F(KernelTest, RunsOnItsStreamWithItsParameters) {
  ASSERT_OK(launch(function("add"), nullptr, values_));
  EXPECT_EQ((std::vector<std::uint32_t>{15, 15, 10}), words_at(words_, 3));
}

TEST_F(KernelTest, ParametersAreCopiedAtTheLaunch) {
  const CUstream late = stream(CU_STREAM_DEFAULT);
  const CUdeviceptr words = words_;
  Gate gate;
  gate.close_after(late);
  ASSERT_OK(launch(function("add"), late, values_));
  value_ = 100;
  words_ = 0;
  gate.open();
  ASSERT_OK(cuStreamSynchronize(late));
  EXPECT_EQ(15U, word_at(words));
}

TEST_F(KernelTest, ParametersCanComeInOneBuffer) {
  struct {
    CUdeviceptr words;
    std::uint64_t count;
    std::uint32_t value;
  } packed{words_, count_, value_};
  std::size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  ASSERT_OK(launch(function("add"), nullptr, nullptr, extra));
  EXPECT_EQ(15U, word_at(words_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(function("add"), nullptr, values_, extra));
}

TEST_F(KernelTest, LaunchesTakeKernelsOfLibrariesToo) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_OK(cuLibraryLoadData(&library, "any image", nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(cuLibraryGetKernel(&kernel, library, "add"));
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  ASSERT_OK(cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), values_, nullptr));
  EXPECT_EQ(15U, word_at(words_));
  CUfunction function = nullptr, again = nullptr;
  ASSERT_OK(cuKernelGetFunction(&function, kernel));
  ASSERT_OK(cuKernelGetFunction(&again, kernel));
  EXPECT_EQ(function, again);
  ASSERT_OK(launch(function, nullptr, values_));
  EXPECT_EQ(20U, word_at(words_));
  ASSERT_OK(cuLibraryUnload(library));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, launch(reinterpret_cast<CUfunction>(kernel), nullptr, values_));
}

TEST_F(KernelTest, ParameterLayoutIsToldByTheCallThatFitsTheHandle) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_OK(cuLibraryLoadData(&library, "any image", nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(cuLibraryGetKernel(&kernel, library, "add"));
  std::size_t offset = 0, size = 0;
  EXPECT_OK(cuKernelGetParamInfo(kernel, 2, &offset, &size));
  EXPECT_EQ(16U, offset);
  EXPECT_EQ(4U, size);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(kernel, 3, &offset, &size));
  const CUfunction function_handle = function("add");
  EXPECT_OK(cuFuncGetParamInfo(function_handle, 1, &offset, &size));
  EXPECT_EQ(8U, offset);
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              cuKernelGetParamInfo(reinterpret_cast<CUkernel>(function_handle), 0, &offset, &size));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), 0, &offset, &size));
  const char* name = nullptr;
  EXPECT_OK(cuFuncGetName(&name, function_handle));
  EXPECT_STREQ("add", name);
  EXPECT_OK(cuLibraryUnload(library));
}

TEST_F(KernelTest, UnknownNamesAndEmptyGridsAreRefused) {
  CUmodule module = nullptr;
  CUfunction unknown = nullptr;
  ASSERT_OK(cuModuleLoadData(&module, "any image"));
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&unknown, module, "subtract"));
  const CUfunction known = function("add");
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuLaunchKernel(known, 0, 1, 1, 1, 1, 1, 0, nullptr, values_, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuLaunchKernel(known, 1, 1, 1, 2048, 1, 1, 0, nullptr, values_, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(known, nullptr, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, launch(nullptr, nullptr, values_));
}

TEST_F(KernelTest, AKernelThatTouchesUnmappedMemoryFailsTheContextNotTheProcess) {
  words_ = reserve(1);
  ASSERT_OK(launch(function("add"), nullptr, values_));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(nullptr));
  EXPECT_EQ(words_, swd_last_illegal_address());
}

TEST_F(KernelTest, AKernelTakesItsRegisteredTime) {
  const CUevent begin = event(), end = event();
  const CUstream plain = stream();
  const CUfunction kernel = function("add");
  ASSERT_OK(cuCtxSynchronize());
  ASSERT_OK(cuEventRecord(begin, plain));
  for (int i = 0; i < 3; ++i) ASSERT_OK(launch(kernel, plain, values_));
  ASSERT_OK(cuEventRecord(end, plain));
  ASSERT_OK(cuEventSynchronize(end));
  float milliseconds = 0;
  ASSERT_OK(cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_FLOAT_EQ(0.003F, milliseconds);
}

TEST_F(KernelTest, ModulesHaveTheirOwnGlobals) {
  ASSERT_EQ(0, swd_register_global("table", 256));
  CUmodule first = nullptr, second = nullptr;
  ASSERT_OK(cuModuleLoadData(&first, "any image"));
  ASSERT_OK(cuModuleLoadData(&second, "any image"));
  CUdeviceptr one = 0, two = 0, none = 0;
  std::size_t size = 0;
  ASSERT_OK(cuModuleGetGlobal(&one, &size, first, "table"));
  ASSERT_OK(cuModuleGetGlobal(&two, nullptr, second, "table"));
  EXPECT_EQ(256U, size);
  EXPECT_NE(one, two);
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&none, nullptr, first, "chair"));
  ASSERT_OK(cuMemsetD32(one, 4, 1));
  EXPECT_EQ(4U, word_at(one));
  ASSERT_OK(cuModuleUnload(first));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(one, 4, 1));
}

}  // namespace
}  // namespace tferry::software_driver
