#include "cli/job/pytorch_allocator.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

class PytorchAllocatorTest : public testing::Test {
 protected:
  Environment environment_{nullptr};
};

TEST_F(PytorchAllocatorTest, CachingIsTurnedOffByDefault) {
  apply_pytorch_allocator(PytorchAllocator::kAuto, environment_);
  EXPECT_EQ(environment_.get("PYTORCH_NO_CUDA_MEMORY_CACHING"), "1");
  EXPECT_EQ(environment_.changes().size(), 1u);
}

TEST_F(PytorchAllocatorTest, UsersOwnChoiceIsKept) {
  environment_.set("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64,backend:cudaMallocAsync");
  apply_pytorch_allocator(PytorchAllocator::kAuto, environment_);
  EXPECT_EQ(environment_.get("PYTORCH_NO_CUDA_MEMORY_CACHING"), std::nullopt);
  EXPECT_EQ(environment_.changes().size(), 1u) << "only the test's own";
}

TEST_F(PytorchAllocatorTest, AsyncKeepsTheUsersOtherSettingsInBothVariables) {
  environment_.set("PYTORCH_CUDA_ALLOC_CONF", "backend:native,roundup_power2_divisions:[256:1,512:2]");
  apply_pytorch_allocator(PytorchAllocator::kAsync, environment_);
  EXPECT_EQ(environment_.get("PYTORCH_CUDA_ALLOC_CONF"),
            "roundup_power2_divisions:[256:1,512:2],backend:cudaMallocAsync");
  EXPECT_EQ(environment_.get("PYTORCH_ALLOC_CONF"),
            "roundup_power2_divisions:[256:1,512:2],backend:cudaMallocAsync");
}

TEST_F(PytorchAllocatorTest, AsyncKeepsEachVariablesOwnSettings) {
  environment_.set("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64");
  environment_.set("PYTORCH_ALLOC_CONF", "garbage_collection_threshold:0.8");
  apply_pytorch_allocator(PytorchAllocator::kAsync, environment_);
  EXPECT_EQ(environment_.get("PYTORCH_CUDA_ALLOC_CONF"), "max_split_size_mb:64,backend:cudaMallocAsync");
  EXPECT_EQ(environment_.get("PYTORCH_ALLOC_CONF"),
            "garbage_collection_threshold:0.8,backend:cudaMallocAsync");
}

TEST_F(PytorchAllocatorTest, NativeChangesNothing) {
  apply_pytorch_allocator(PytorchAllocator::kNative, environment_);
  EXPECT_TRUE(environment_.changes().empty());
}

TEST_F(PytorchAllocatorTest, NamesAreChecked) {
  EXPECT_EQ(parse_pytorch_allocator("uncached"), PytorchAllocator::kUncached);
  EXPECT_THROW(parse_pytorch_allocator("cached"), Failure);
}

TEST(MergeAllocatorSetting, HandlesEmptyOddAndUnbalancedText) {
  EXPECT_EQ(merge_allocator_setting("", "backend", "x"), "backend:x");
  EXPECT_EQ(merge_allocator_setting(",,a:1,", "backend", "x"), "a:1,backend:x");
  EXPECT_EQ(merge_allocator_setting(" backend : y , a:[1,2", "backend", "x"), " a:[1,2,backend:x");
}

}  // namespace
}  // namespace tferry::cli
