#pragma once

#include "cuda/driver.hpp"
#include "tests/software_driver/control.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace tferry::runtime {

inline constexpr std::size_t kTestChunk = 65536;

/// Holds a stream's work until it is opened, so that a test decides when operations end.
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

/// A fresh primary context of device 0 of the software driver, current in the test's thread, and the table
/// that the runtime's parts are given. The software driver is linked here; the hooks are not.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  static const cuda::Driver& driver();
  static SwdStatistics statistics();
  static CUstream stream();

  CUcontext context_ = nullptr;
};

}  // namespace tferry::runtime
