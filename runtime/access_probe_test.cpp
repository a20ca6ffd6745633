// What a launch does to what it names, found by trying. Device memory is host memory here, kernels are
// functions.
#include "runtime/access_probe.hpp"

#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>

namespace tferry::runtime {
namespace {

using trace::AccessKind;
using Words = std::vector<std::uint32_t>;

CUdeviceptr address_of(const Words& words) { return reinterpret_cast<CUdeviceptr>(words.data()); }

/// The few calls that the probe makes.
cuda::Driver host_driver() {
  cuda::Driver driver;
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(0x10);
    return CUDA_SUCCESS;
  };
  driver.cuCtxGetDevice = [](CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  driver.cuCtxSynchronize = [] { return CUDA_SUCCESS; };
  driver.cuStreamCreate = [](CUstream* stream, unsigned) {
    *stream = reinterpret_cast<CUstream>(0x20);
    return CUDA_SUCCESS;
  };
  driver.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  driver.cuMemcpyDtoHAsync_v2 = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
  };
  driver.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
  };
  return driver;
}

class AccessProbeTest : public ::testing::Test {
 protected:
  AccessProbeTest() {
    status_.open("");
    std::string error;
    recorder_ = Recorder::open(directory_ / "", 0, 0, error);
    EXPECT_TRUE(recorder_) << error;
    probe_ = std::make_unique<AccessProbe>(driver_, *recorder_, status_);
    std::iota(in_.begin(), in_.end(), 1);
    std::iota(out_.begin(), out_.end(), 7);
  }
  /// "in read, out write 0+4096" after a launch of the kernel, whose arguments are in and out.
  template <typename Kernel>
  std::string launch(Kernel kernel, std::uint64_t key = 1) {
    const AccessProbe::Region regions[] = {{address_of(in_), in_.size() * 4, 11},
                                           {address_of(out_), out_.size() * 4, 12}};
    std::vector<trace::AccessEntry> entries(2);
    entries[0] = {.allocation = 11, .kind = AccessKind::kMayTouch, .known_by = trace::KnownBy::kArgument};
    entries[1] = {.allocation = 12, .kind = AccessKind::kMayTouch, .known_by = trace::KnownBy::kArgument};
    result_ = probe_->run(
        key, regions, entries, nullptr, [this](std::uint64_t word) { return word == address_; },
        [&](CUstream) {
          ++launches_;
          return kernel();
        });
    std::string text;
    for (const trace::AccessEntry& entry : entries) {
      constexpr const char* kNames[] = {"unknown", "may touch", "read", "write", "read and write"};
      text += std::string(text.empty() ? "" : ", ") + (entry.allocation == 11 ? "in " : "out ") +
              kNames[static_cast<int>(entry.kind)];
      if (entry.bytes > 0) text += " " + std::to_string(entry.offset) + "+" + std::to_string(entry.bytes);
    }
    return text;
  }

  trace::TestDirectory directory_;
  cuda::Driver driver_ = host_driver();
  StatusPage status_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<AccessProbe> probe_;
  Words in_ = Words(1024), out_ = Words(1024);
  std::uint64_t address_ = 0x7f00'0000'1000;
  CUresult result_ = CUDA_SUCCESS;
  int launches_ = 0;
};

TEST_F(AccessProbeTest, WhatIsOverwrittenBeforeItIsReadIsAWrite) {
  EXPECT_EQ(launch([&] {
              for (std::size_t i = 0; i < in_.size(); ++i) out_[i] = 3 * in_[i];
              return CUDA_SUCCESS;
            }),
            "in read, out write 0+4096");
  EXPECT_EQ(out_[5], 18u);
  EXPECT_EQ(launches_, 2);
}

TEST_F(AccessProbeTest, WhatIsAddedToIsReadAndWrittenAndIsAddedToOnce) {
  EXPECT_EQ(launch([&] {
              for (std::size_t i = 0; i < in_.size(); ++i) out_[i] += in_[i];
              return CUDA_SUCCESS;
            }),
            "in read, out read and write 0+4096");
  EXPECT_EQ(out_[0], 8u);
  EXPECT_EQ(in_[0], 1u);
}

TEST_F(AccessProbeTest, WhatIsWrittenInPartKeepsItsOtherContentsAndSoIsNoPlainWrite) {
  EXPECT_EQ(launch([&] {
              std::fill(out_.begin(), out_.begin() + 512, 1);
              return CUDA_SUCCESS;
            }),
            "in read, out read and write 0+4096");
  EXPECT_EQ(out_[600], 607u);
}

TEST_F(AccessProbeTest, OfTwoThatAreWrittenEachIsTriedAlone) {
  EXPECT_EQ(launch([&] {
              for (std::size_t i = 0; i < in_.size(); ++i) {
                out_[i] = in_[i];
                in_[i] += 1;
              }
              return CUDA_SUCCESS;
            }),
            "in read and write 0+4096, out write 0+4096");
  EXPECT_EQ(in_[0], 2u);
  EXPECT_EQ(out_[0], 1u);
}

TEST_F(AccessProbeTest, ExtentsOfTwoMebibytesTellWhereItWasChanged) {
  out_.assign(3 << 19, 5);
  EXPECT_EQ(launch([&] {
              out_[(1 << 19) + 3] += 1;
              return CUDA_SUCCESS;
            }),
            "in read, out read and write 2097152+2097152");
}

TEST_F(AccessProbeTest, ALaunchLikeOneBeforeIsNotTriedAgain) {
  const auto copy = [&] {
    out_ = in_;
    return CUDA_SUCCESS;
  };
  launch(copy);
  const int before = launches_;
  EXPECT_EQ(launch(copy), "in read, out write 0+4096");
  EXPECT_EQ(launches_, before + 1);
  launch(copy, 2);
  EXPECT_EQ(probe_->tried(), 2);
}

TEST_F(AccessProbeTest, MemoryWithAnAddressInItIsNotLaunchedAgain) {
  std::memcpy(in_.data() + 2, &address_, sizeof address_);
  EXPECT_EQ(launch([&] {
              out_ = in_;
              return CUDA_SUCCESS;
            }),
            "in read, out read and write 0+4096");
  EXPECT_EQ(launches_, 1);
}

TEST_F(AccessProbeTest, WhatAnotherThreadSubmitsMeanwhileStaysAndNothingIsConcluded) {
  EXPECT_EQ(launch([&] {
              std::thread([&] {
                const auto hold = probe_->beside();
                out_[700] = 70;
              }).join();
              std::copy(in_.begin(), in_.begin() + 512, out_.begin());
              return CUDA_SUCCESS;
            }),
            "in may touch, out may touch");
  EXPECT_EQ(out_[700], 70u);
  EXPECT_EQ(launches_, 1);
}

TEST_F(AccessProbeTest, ALaunchOfAnotherThreadMeanwhileIsPassedOn) {
  int inner = 0;
  launch([&] {
    if (launches_ > 1) return CUDA_SUCCESS;
    std::thread([&] {
      std::vector<trace::AccessEntry> none;
      probe_->run(
          9, {}, none, nullptr, [](std::uint64_t) { return false; },
          [&](CUstream) {
            ++inner;
            return CUDA_SUCCESS;
          });
    }).join();
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(inner, 1);
}

TEST_F(AccessProbeTest, ALaunchThatFailsIsToldAsItIsAndNothingIsKnownOfIt) {
  EXPECT_EQ(launch([] { return CUDA_ERROR_INVALID_VALUE; }), "in may touch, out may touch");
  EXPECT_EQ(result_, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launches_, 1);
}

TEST_F(AccessProbeTest, WhereNothingCanBeCopiedTheJobRunsAllTheSame) {
  driver_.cuMemcpyDtoHAsync_v2 = [](void*, CUdeviceptr, std::size_t, CUstream) { return CUDA_ERROR_UNKNOWN; };
  EXPECT_EQ(launch([&] {
              out_ = in_;
              return CUDA_SUCCESS;
            }),
            "in may touch, out may touch");
  EXPECT_EQ(out_, in_);
  EXPECT_EQ(launches_, 1);
}

TEST_F(AccessProbeTest, WhereOneWayOfCopyingFailsContentsArePutBackByAnother) {
  static int copies;
  copies = 0;
  driver_.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    if (++copies > 2) return CUDA_ERROR_UNKNOWN;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
  };
  driver_.cuMemcpyHtoD_v2 = [](CUdeviceptr to, const void* from, std::size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
  };
  launch([&] {
    for (std::size_t i = 0; i < in_.size(); ++i) out_[i] += in_[i];
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(out_[0], 8u);
  EXPECT_EQ(in_[0], 1u);
}

}  // namespace
}  // namespace tferry::runtime
