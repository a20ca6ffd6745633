#include "cuda/function_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tferry::cuda {
namespace {

/// A driver that knows one kernel by CUkernel and one by CUfunction.
struct FakeDriver {
  static inline std::vector<FunctionInfo::Parameter> layout;
  static inline std::size_t fail_at = ~std::size_t{0};
  static inline int asked = 0;
  static inline const char* name = "axpy";
  static inline CUkernel kernel = reinterpret_cast<CUkernel>(0x1000);
  static inline CUfunction function = reinterpret_cast<CUfunction>(0x2000);

  static CUresult parameter(std::size_t index, std::size_t* offset, std::size_t* size) {
    ++asked;
    if (index == fail_at) return CUDA_ERROR_UNKNOWN;
    if (index >= layout.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = layout[index].offset;
    *size = layout[index].size;
    return CUDA_SUCCESS;
  }
  static CUresult of_kernel(CUkernel handle, std::size_t index, std::size_t* offset, std::size_t* size) {
    return handle == kernel ? parameter(index, offset, size) : CUDA_ERROR_INVALID_HANDLE;
  }
  static CUresult of_function(CUfunction handle, std::size_t index, std::size_t* offset, std::size_t* size) {
    return handle == function ? parameter(index, offset, size) : CUDA_ERROR_INVALID_HANDLE;
  }
  static CUresult name_of_kernel(const char** out, CUkernel) {
    *out = name;
    return CUDA_SUCCESS;
  }
  static CUresult name_of_function(const char** out, CUfunction) {
    *out = name;
    return CUDA_SUCCESS;
  }
  static Driver table() {
    Driver driver;
    driver.cuKernelGetParamInfo = of_kernel;
    driver.cuFuncGetParamInfo = of_function;
    driver.cuKernelGetName = name_of_kernel;
    driver.cuFuncGetName = name_of_function;
    return driver;
  }
};

class FunctionTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FakeDriver::layout = {{0, 8}, {8, 4}, {16, 24}};
    FakeDriver::fail_at = ~std::size_t{0};
    FakeDriver::asked = 0;
    FakeDriver::name = "axpy";
  }
  Driver driver_ = FakeDriver::table();
  FunctionTable table_;
};

TEST_F(FunctionTableTest, ReadsTheLayoutOfAKernel) {
  const FunctionInfo* info = table_.find(driver_, reinterpret_cast<CUfunction>(FakeDriver::kernel));
  ASSERT_NE(nullptr, info);
  ASSERT_EQ(3U, info->parameters.size());
  EXPECT_EQ(16U, info->parameters[2].offset);
  EXPECT_EQ(40U, info->buffer_size);
  EXPECT_FALSE(info->collective);
}

TEST_F(FunctionTableTest, FallsBackToTheFunctionInterface) {
  ASSERT_NE(nullptr, table_.find(driver_, FakeDriver::function));
  driver_.cuKernelGetParamInfo = nullptr;  // a driver before CUDA 12.4
  FunctionTable another;
  EXPECT_NE(nullptr, another.find(driver_, FakeDriver::function));
}

TEST_F(FunctionTableTest, AKernelWithoutParametersIsKnownToHaveNone) {
  FakeDriver::layout.clear();
  const FunctionInfo* info = table_.find(driver_, FakeDriver::function);
  ASSERT_NE(nullptr, info);
  EXPECT_TRUE(info->parameters.empty());
}

TEST_F(FunctionTableTest, AnUnknownHandleIsUnreadable) {
  EXPECT_EQ(nullptr, table_.find(driver_, reinterpret_cast<CUfunction>(0x3000)));
}

TEST_F(FunctionTableTest, IsAskedOnceUntilHandlesMayBeUsedAgain) {
  table_.find(driver_, FakeDriver::function);
  const int asked = FakeDriver::asked;
  table_.find(driver_, FakeDriver::function);
  EXPECT_EQ(asked, FakeDriver::asked);
  FakeDriver::layout = {{0, 16}};
  table_.forget_all();
  EXPECT_EQ(16U, table_.find(driver_, FakeDriver::function)->buffer_size);
}

// Half a layout would leave arguments unseen, and what they point to ungated.
TEST_F(FunctionTableTest, ALayoutThatEndsInAnErrorIsNoLayoutAndIsAskedForAgain) {
  FakeDriver::fail_at = 2;
  EXPECT_EQ(nullptr, table_.find(driver_, FakeDriver::function));
  FakeDriver::fail_at = ~std::size_t{0};
  const FunctionInfo* info = table_.find(driver_, FakeDriver::function);
  ASSERT_NE(nullptr, info);
  EXPECT_EQ(3U, info->parameters.size());
}

TEST_F(FunctionTableTest, KernelsOfNcclAreTold) {
  FakeDriver::name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
  EXPECT_TRUE(table_.find(driver_, FakeDriver::function)->collective);
  FakeDriver::name = "not_ncclDevKernel";
  table_.forget_all();
  EXPECT_FALSE(table_.find(driver_, FakeDriver::function)->collective);
}

std::vector<std::uint64_t> words(const FunctionInfo& info, void* const* parameters, void* const* extra) {
  std::vector<std::uint64_t> seen;
  for_each_argument_word(info, 1, parameters, extra, [&](std::uint64_t word) { seen.push_back(word); });
  return seen;
}

FunctionInfo layout(std::vector<FunctionInfo::Parameter> parameters) {
  FunctionInfo info;
  info.parameters = std::move(parameters);
  for (const auto& each : info.parameters)
    info.buffer_size = std::max(info.buffer_size, each.offset + each.size);
  return info;
}

using Words = std::vector<std::uint64_t>;

TEST(ArgumentWords, ComeFromEveryParameter) {
  std::uint64_t first = 11;
  std::uint32_t small = 5;
  std::uint64_t last = 13;
  void* parameters[] = {&first, &small, &last};
  EXPECT_EQ((Words{11, 13}), words(layout({{0, 8}, {8, 4}, {16, 8}}), parameters, nullptr));
}

// PUMP looks at the first 8 parameters only, and at base addresses only.
TEST(ArgumentWords, PumpAllParametersAreLookedAtHoweverMany) {
  std::vector<std::uint64_t> values(100);
  std::vector<void*> parameters;
  FunctionInfo info;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 1000 + i;
    parameters.push_back(&values[i]);
    info.parameters.push_back({8 * i, 8});
  }
  EXPECT_EQ(values, words(info, parameters.data(), nullptr));
}

TEST(ArgumentWords, AreFoundInsideBigStructs) {
  struct {
    std::uint64_t words[430];
  } big{};
  big.words[0] = 1;
  big.words[429] = 2;
  void* parameters[] = {&big};
  const auto seen = words(layout({{0, sizeof big}}), parameters, nullptr);
  ASSERT_EQ(430U, seen.size());
  EXPECT_EQ(1U, seen.front());
  EXPECT_EQ(2U, seen.back());
}

TEST(ArgumentWords, ATensorMapHasItsAddressInItsFirstWord) {
  struct alignas(64) {
    std::uint64_t opaque[16];
  } map{};
  map.opaque[0] = 0x700000200000;
  void* parameters[] = {&map};
  EXPECT_EQ(0x700000200000U, words(layout({{0, 128}}), parameters, nullptr).at(0));
}

TEST(ArgumentWords, ComePackedInOneBuffer) {
  std::uint64_t packed[] = {1, 2, 3, 4};
  std::size_t size = 3 * sizeof packed[0];
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  EXPECT_EQ((Words{1, 2, 3}), words(layout({{0, 32}}), nullptr, extra));
  void* size_first[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_BUFFER_POINTER, packed,
                        CU_LAUNCH_PARAM_END};
  EXPECT_EQ((Words{1, 2, 3}), words(layout({{0, 32}}), nullptr, size_first));
}

TEST(ArgumentWords, AreNoneWhereThereAreNoParameters) {
  EXPECT_TRUE(words(layout({}), nullptr, nullptr).empty());
  void* extra[] = {CU_LAUNCH_PARAM_END};
  EXPECT_TRUE(words(layout({{0, 8}}), nullptr, extra).empty());
}

TEST(ArgumentWords, AHalfWordAtTheEndIsNotRead) {
  std::uint32_t three[] = {7, 0, 9};
  void* parameters[] = {&three};
  EXPECT_EQ((Words{7}), words(layout({{0, 12}}), parameters, nullptr));
}

TEST(ErrorName, IsTheDriversOrTheNumber) {
  EXPECT_STREQ("CUDA error 2", error_name(Driver{}, CUDA_ERROR_OUT_OF_MEMORY));
  Driver driver;
  driver.cuGetErrorName = [](CUresult, const char** text) {
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS;
  };
  EXPECT_STREQ("CUDA_ERROR_OUT_OF_MEMORY", error_name(driver, CUDA_ERROR_OUT_OF_MEMORY));
}

}  // namespace
}  // namespace tferry::cuda
