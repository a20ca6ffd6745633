#pragma once

#include "tests/runtime/drivers.hpp"
#include "tests/runtime/kernels.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tferry::runtime_test {

#define EXPECT_CUDA(expected, call) \
  EXPECT_EQ(::tferry::runtime_test::name_of(expected), ::tferry::runtime_test::name_of(call))
#define EXPECT_OK(call) EXPECT_CUDA(CUDA_SUCCESS, call)
#define ASSERT_OK(call) ASSERT_EQ("CUDA_SUCCESS", ::tferry::runtime_test::name_of(call))

/// A program's situation: a primary context of device 0, a budget of 16 chunks, kernels, and the driver with
/// the runtime in front of it.
class FerriedTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kChunk = Drivers::kChunk;
  static constexpr std::size_t kBudget = 16;

  void SetUp() override;
  void TearDown() override;

  /// Starts over with another budget, in chunks.
  void start(std::size_t budget);

  CUdeviceptr allocate(std::size_t chunks);
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event();
  /// Launches the fill kernel over whole chunks; a buffer can move once a launch has named it.
  void fill(CUdeviceptr buffer, std::size_t chunks, std::uint32_t seed, CUstream on = nullptr);
  CUresult launch(CUfunction function, CUstream on, void** parameters);
  /// True when the buffer holds what `fill` wrote.
  ::testing::AssertionResult holds(CUdeviceptr buffer, std::size_t chunks, std::uint32_t seed);
  /// Fills buffers of 4 chunks until everything else that can leave has left; they stay until the end.
  void push_out();

  std::int64_t parked() const { return Drivers::get().device().parked; }
  std::int64_t resident_for(trace::ResidentReason reason) const {
    return Drivers::get().device().resident_count[static_cast<int>(reason)];
  }

  Drivers& drivers_ = Drivers::get();
  const Api& api_ = drivers_.ferried();
  Kernels kernels_;
  CUcontext context_ = nullptr;
  std::size_t budget_ = kBudget;
};

/// Holds a stream's work until it is opened.
class Gate {
 public:
  ~Gate() { open(); }
  void open();
  void close_after(CUstream stream);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };
  static void wait(void* state);

  std::shared_ptr<State> state_ = std::make_shared<State>();  ///< the waiting stream's, too
};

}  // namespace tferry::runtime_test
