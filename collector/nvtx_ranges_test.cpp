#include "collector/nvtx_ranges.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>

#include <generated_nvtx_meta.h>
#include <thread>

namespace tferry::collector {
namespace {

using Change = NvtxRanges::Change;

/// A program's NVTX calls, told as CUPTI tells them.
struct Program {
  NvtxRanges& ranges;

  Change push(const char* name) {
    nvtxRangePushA_params given{name};
    return tell(CUPTI_CBID_NVTX_nvtxRangePushA, &given);
  }
  Change pop() { return tell(CUPTI_CBID_NVTX_nvtxRangePop, nullptr); }
  Change start(const char* name, nvtxRangeId_t id) {
    nvtxRangeStartA_params given{name};
    return tell(CUPTI_CBID_NVTX_nvtxRangeStartA, &given, &id);
  }
  Change end(nvtxRangeId_t id) {
    nvtxRangeEnd_params given{id};
    return tell(CUPTI_CBID_NVTX_nvtxRangeEnd, &given);
  }
  nvtxDomainHandle_t domain(const char* name, std::uintptr_t number) {
    auto handle = reinterpret_cast<nvtxDomainHandle_t>(number);
    nvtxDomainCreateA_params given{name};
    tell(CUPTI_CBID_NVTX_nvtxDomainCreateA, &given, &handle);
    return handle;
  }
  Change push(nvtxDomainHandle_t domain, const char* name) {
    nvtxEventAttributes_t attributes{};
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx_params given{domain, {&attributes}};
    return tell(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, &given);
  }
  Change pop(nvtxDomainHandle_t domain) {
    nvtxDomainRangePop_params given{domain};
    return tell(CUPTI_CBID_NVTX_nvtxDomainRangePop, &given);
  }

 private:
  Change tell(CUpti_CallbackId id, const void* given, const void* returned = nullptr) {
    return ranges.on_call(id, {.functionName = "", .functionParams = given, .functionReturnValue = returned});
  }
};

TEST(NvtxRanges, APushedRangeIsOpenUntilItsOwnPop) {
  NvtxRanges ranges("step", "");
  Program program{ranges};
  EXPECT_EQ(program.push("epoch"), Change::kNone);
  EXPECT_EQ(program.push("step"), Change::kOpened);
  EXPECT_EQ(program.push("forward"), Change::kNone);
  EXPECT_EQ(program.pop(), Change::kNone);
  EXPECT_EQ(program.pop(), Change::kClosed);
  EXPECT_EQ(program.pop(), Change::kNone);  // epoch
  EXPECT_EQ(program.push("step"), Change::kOpened);
}

TEST(NvtxRanges, OverlappingRangesAreOne) {
  NvtxRanges ranges("step", "");
  Program program{ranges};
  EXPECT_EQ(program.start("step", 7), Change::kOpened);
  EXPECT_EQ(program.push("step"), Change::kNone);
  EXPECT_EQ(program.end(7), Change::kNone);
  EXPECT_EQ(program.pop(), Change::kClosed);
  EXPECT_EQ(program.end(7), Change::kNone);
}

TEST(NvtxRanges, AnotherThreadsPopClosesNothing) {
  NvtxRanges ranges("step", "");
  Program program{ranges};
  program.push("step");
  std::thread([&] { EXPECT_EQ(program.pop(), Change::kNone); }).join();
  EXPECT_EQ(program.pop(), Change::kClosed);
}

TEST(NvtxRanges, OnlyTheDomainThatWasAskedForCounts) {
  NvtxRanges ranges("step", "torch");
  Program program{ranges};
  const auto torch = program.domain("torch", 1), other = program.domain("other", 2);
  EXPECT_EQ(program.push("step"), Change::kNone);
  EXPECT_EQ(program.push(other, "step"), Change::kNone);
  EXPECT_EQ(program.push(torch, "step"), Change::kOpened);
  EXPECT_EQ(program.pop(other), Change::kNone);
  EXPECT_EQ(program.pop(torch), Change::kClosed);
}

TEST(NvtxRanges, ACallWithoutParametersIsPassedOver) {
  NvtxRanges ranges("step", "");
  EXPECT_EQ(ranges.on_call(CUPTI_CBID_NVTX_nvtxRangePushA, {}), Change::kNone);
  EXPECT_EQ(ranges.on_call(CUPTI_CBID_NVTX_nvtxRangePop, {}), Change::kNone);
}

}  // namespace
}  // namespace tferry::collector
