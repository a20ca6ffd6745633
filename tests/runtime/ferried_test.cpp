#include "tests/runtime/ferried_test.hpp"

namespace tferry::runtime_test {

void FerriedTest::SetUp() {
  drivers_.clear_faults();
  drivers_.set_jitter(0);
  start(kBudget);
}

void FerriedTest::TearDown() {
  drivers_.clear_faults();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  EXPECT_OK(api_.cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_OK(api_.cuDevicePrimaryCtxReset_v2(0));
  EXPECT_EQ(0, drivers_.device().audit_failures);
  EXPECT_EQ(0, drivers_.statistics().illegal_accesses);
  EXPECT_EQ(0U, drivers_.statistics().memory_used);
  EXPECT_EQ(0U, drivers_.statistics().mappings);
}

void FerriedTest::start(std::size_t budget) {
  if (context_ != nullptr) {
    EXPECT_OK(api_.cuDevicePrimaryCtxReset_v2(0));
  }
  budget_ = budget;
  drivers_.set_budget(budget * kChunk);
  ASSERT_OK(api_.cuDevicePrimaryCtxRetain(&context_, 0));
  ASSERT_OK(api_.cuCtxSetCurrent(context_));
  kernels_ = Kernels::load(api_);
  drivers_.clear_calls();
}

CUdeviceptr FerriedTest::allocate(std::size_t chunks) {
  CUdeviceptr address = 0;
  EXPECT_OK(api_.cuMemAlloc_v2(&address, chunks * kChunk));
  return address;
}

CUstream FerriedTest::stream(unsigned flags) {
  CUstream made = nullptr;
  EXPECT_OK(api_.cuStreamCreate(&made, flags));
  return made;
}

CUevent FerriedTest::event() {
  CUevent made = nullptr;
  EXPECT_OK(api_.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  return made;
}

CUresult FerriedTest::launch(CUfunction function, CUstream on, void** parameters) {
  return api_.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, on, parameters, nullptr);
}

void FerriedTest::fill(CUdeviceptr buffer, std::size_t chunks, std::uint32_t seed, CUstream on) {
  std::uint64_t words = chunks * kChunk / 4;
  void* parameters[] = {&buffer, &words, &seed};
  EXPECT_OK(launch(kernels_.fill, on, parameters));
}

::testing::AssertionResult FerriedTest::holds(CUdeviceptr buffer, std::size_t chunks, std::uint32_t seed) {
  std::vector<std::uint32_t> expected(chunks * kChunk / 4);
  std::vector<std::uint32_t> found(expected.size());
  fill_words(expected.data(), expected.size(), seed);
  const CUresult result = api_.cuMemcpyDtoH_v2(found.data(), buffer, chunks * kChunk);
  if (result != CUDA_SUCCESS) return ::testing::AssertionFailure() << "cuMemcpyDtoH: " << name_of(result);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != found[i])
      return ::testing::AssertionFailure() << "word " << i << " of " << expected.size();
  }
  return ::testing::AssertionSuccess();
}

void FerriedTest::push_out() {
  // One more than fits, so that something leaves in any case.
  const std::size_t rounds = budget_ / 4 + 1;
  std::vector<CUdeviceptr> fresh;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    fresh.push_back(allocate(4));
    fill(fresh.back(), 4, i);
  }
}

void Gate::open() {
  const std::lock_guard lock(state_->mutex);
  state_->open = true;
  state_->changed.notify_all();
}

void Gate::close_after(CUstream stream) {
  EXPECT_OK(Drivers::get().native().cuLaunchHostFunc(stream, wait, new std::shared_ptr<State>(state_)));
}

void Gate::wait(void* state) {
  const std::unique_ptr<std::shared_ptr<State>> own(static_cast<std::shared_ptr<State>*>(state));
  State& gate = **own;
  std::unique_lock lock(gate.mutex);
  gate.changed.wait(lock, [&] { return gate.open; });
}

}  // namespace tferry::runtime_test
