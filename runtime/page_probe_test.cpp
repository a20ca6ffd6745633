// Which launches are watched, and what ends the watching. No memory is moved here: the driver's calls are
// noted.
#include "runtime/page_probe.hpp"

#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

namespace tferry::runtime {
namespace {

std::string calls;
int queries_until_done = 0;
CUresult prefetched = CUDA_SUCCESS;

cuda::Driver noting_driver() {
  cuda::Driver driver;
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(0x10);
    return CUDA_SUCCESS;
  };
  driver.cuCtxSynchronize = [] {
    calls += "wait ";
    return CUDA_SUCCESS;
  };
  driver.cuStreamCreate = [](CUstream* stream, unsigned) {
    *stream = reinterpret_cast<CUstream>(0x20);
    return CUDA_SUCCESS;
  };
  driver.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  driver.cuStreamQuery = [](CUstream) {
    return queries_until_done-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  };
  driver.cuMemPrefetchAsync_v2 = [](CUdeviceptr address, std::size_t bytes, CUmemLocation location, unsigned,
                                    CUstream) {
    calls += (location.type == CU_MEM_LOCATION_TYPE_HOST ? "home " : "fetch ") + std::to_string(address) +
             "+" + std::to_string(bytes) + " ";
    return prefetched;
  };
  return driver;
}

class PageProbeTest : public ::testing::Test {
 protected:
  PageProbeTest() {
    calls.clear();
    queries_until_done = 0;
    prefetched = CUDA_SUCCESS;
    status_.open("");
    std::string error;
    recorder_ = Recorder::open(directory_ / "", 0, 0, error);
    EXPECT_TRUE(recorder_) << error;
    probe_ = std::make_unique<PageProbe>(driver_, *recorder_, status_);
  }
  /// True if it was watched.
  bool launch(CUresult result = CUDA_SUCCESS, const std::function<void()>& meanwhile = {}) {
    OperationDetails details;
    const CUresult returned = probe_->run(
        0, [this] { return in_use_; }, details, nullptr,
        [&] {
          calls += "launch ";
          if (meanwhile) meanwhile();
          return result;
        });
    EXPECT_EQ(returned, result);
    EXPECT_EQ(details.homed_to_ns > 0, details.homed_bytes > 0);
    EXPECT_LE(details.homed_from_ns, details.homed_to_ns);
    return details.homed_to_ns > 0;
  }

  trace::TestDirectory directory_;
  cuda::Driver driver_ = noting_driver();
  StatusPage status_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<PageProbe> probe_;
  std::vector<ManagedRun> in_use_ = {{100, 50, false}, {300, 20, false}};
};

TEST_F(PageProbeTest, EverythingInUseIsHomedBeforeALaunchAndTheLaunchIsWaitedFor) {
  queries_until_done = 3;
  EXPECT_TRUE(launch());
  EXPECT_EQ(calls, "wait home 100+50 home 300+20 launch ");
  EXPECT_LT(queries_until_done, 0);
  EXPECT_EQ(probe_->watched(), 1);
}

TEST_F(PageProbeTest, WithoutMemoryOfTheProgramThereIsNothingToWatch) {
  in_use_.clear();
  EXPECT_FALSE(launch());
  EXPECT_EQ(calls, "launch ");
  EXPECT_TRUE(probe_->watching());
}

TEST_F(PageProbeTest, ALaunchThatFailsIsToldAsItIs) {
  EXPECT_FALSE(launch(CUDA_ERROR_INVALID_VALUE));
  EXPECT_TRUE(probe_->watching());
}

TEST_F(PageProbeTest, WhatAnotherThreadSubmitsMeanwhileLeavesTheLaunchUnwatched) {
  EXPECT_FALSE(launch(CUDA_SUCCESS, [this] { std::thread([this] { probe_->beside(); }).join(); }));
  EXPECT_TRUE(launch());
}

TEST_F(PageProbeTest, ADriverThatRefusesEndsThePassAndTheJobRunsOn) {
  prefetched = CUDA_ERROR_INVALID_VALUE;
  EXPECT_FALSE(launch());
  EXPECT_FALSE(probe_->watching());
  calls.clear();
  EXPECT_FALSE(launch());
  EXPECT_EQ(calls, "launch ");
}

TEST_F(PageProbeTest, MoreThanTheHostHasRoomForEndsThePassBeforeAnythingMoves) {
  in_use_ = {{1 << 20, std::size_t{1} << 59, false}};
  EXPECT_FALSE(launch());
  EXPECT_FALSE(probe_->watching());
  EXPECT_EQ(calls, "launch ");
}

}  // namespace
}  // namespace tferry::runtime
