#include "runtime/device_fixture.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace tferry::runtime {
namespace {

// Before the first call of the driver, which reads them.
[[maybe_unused]] const bool environment_set = [] {
  setenv("SWD_GRANULARITY", "65536", 1);
  setenv("SWD_DEVICE_MEMORY", "16777216", 1);
  setenv("SWD_DEVICES", "2", 1);
  return true;
}();

}  // namespace

void Gate::open() {
  const std::lock_guard lock(state_->mutex);
  state_->open = true;
  state_->changed.notify_all();
}

void Gate::close_after(CUstream stream) {
  EXPECT_EQ(CUDA_SUCCESS, cuLaunchHostFunc(stream, wait, new std::shared_ptr<State>(state_)));
}

void Gate::wait(void* state) {
  const std::unique_ptr<std::shared_ptr<State>> own(static_cast<std::shared_ptr<State>*>(state));
  State& gate = **own;
  std::unique_lock lock(gate.mutex);
  gate.changed.wait(lock, [&] { return gate.open; });
}

void DeviceTest::SetUp() {
  ASSERT_EQ(CUDA_SUCCESS, cuInit(0));
  swd_clear_faults();
  swd_clear_calls();
  ASSERT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&context_, 0));
  ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context_));
}

void DeviceTest::TearDown() {
  swd_clear_faults();
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxReset(0));
}

const cuda::Driver& DeviceTest::driver() {
  static const cuda::Driver table =
      cuda::Driver::from_library(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), &dlsym);
  return table;
}

SwdStatistics DeviceTest::statistics() {
  SwdStatistics all{};
  EXPECT_EQ(0, swd_statistics(0, &all));
  return all;
}

CUstream DeviceTest::stream() {
  CUstream made = nullptr;
  EXPECT_EQ(CUDA_SUCCESS, cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  return made;
}

}  // namespace tferry::runtime
