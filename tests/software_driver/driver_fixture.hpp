#pragma once

#include "tests/software_driver/control.hpp"

#include <cuda.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tferry::software_driver {

/// The granularity that the tests run with, and a small chunk size in units of it.
inline constexpr std::size_t kGranule = 65536;

inline std::string name_of(CUresult code) {
  const char* name = nullptr;
  cuGetErrorName(code, &name);
  return name ? name : "unknown";
}

#define EXPECT_CUDA(expected, call) \
  EXPECT_EQ(::tferry::software_driver::name_of(expected), ::tferry::software_driver::name_of(call))
#define ASSERT_OK(call) ASSERT_EQ("CUDA_SUCCESS", ::tferry::software_driver::name_of(call))
#define EXPECT_OK(call) EXPECT_CUDA(CUDA_SUCCESS, call)

/// Holds a stream's work until it is opened, or gone, so that tests can look at what has not happened yet.
class Gate {
 public:
  ~Gate() { open(); }
  void open() {
    const std::lock_guard lock(state_->mutex);
    state_->open = true;
    state_->changed.notify_all();
  }
  void close_after(CUstream stream) {
    // The function that waits owns its share, because it may still be leaving when the gate is gone.
    EXPECT_OK(cuLaunchHostFunc(stream, wait, new std::shared_ptr<State>(state_)));
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };

  static void wait(void* share) {
    const std::unique_ptr<std::shared_ptr<State>> owned(static_cast<std::shared_ptr<State>*>(share));
    State& state = **owned;
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&] { return state.open; });
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// A fresh primary context of device 0, current in the test's thread; reset at the end, whatever its state.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  static SwdStatistics statistics();
  static CUmemAllocationProp on_device(int device = 0);
  static CUmemAllocationProp on_host();

  /// A chunk of `granules`, mapped with access at an address of its own; unmapped and released at the end of
  /// the test.
  CUdeviceptr mapped(std::size_t granules, const CUmemAllocationProp& prop = on_device());
  CUdeviceptr reserve(std::size_t granules);
  CUmemGenericAllocationHandle create(std::size_t granules, const CUmemAllocationProp& prop = on_device());
  static void allow(CUdeviceptr base, std::size_t granules);
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event(unsigned flags = CU_EVENT_DEFAULT);
  CUfunction function(const char* name);

  static std::vector<std::uint32_t> words_at(CUdeviceptr address, std::size_t count);
  static std::uint32_t word_at(CUdeviceptr address) { return words_at(address, 1).at(0); }

  CUcontext context_ = nullptr;

 private:
  struct Owned {
    CUdeviceptr base;
    std::size_t size;
  };
  std::vector<Owned> reserved_;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

}  // namespace tferry::software_driver
