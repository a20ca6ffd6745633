// Readers of JSON that people write and edit by hand: whatever the text, the answer is a value that holds
// what its reader promises, or an error of its own kind. Random mutations of good files, the same in every
// run.
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/planner/plan_json.hpp"
#include "analyzer/workload/json.hpp"
#include "analyzer/workload/random_workload.hpp"
#include "analyzer/workload/validate.hpp"
#include "tests/fuzz/mutate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tferry::fuzz {
namespace {

using namespace analyzer;

/// Mutations of `good`, mostly by one or two changes; calls check(text).
template <typename Check>
void mutate(const std::string& good, int rounds, Check&& check) {
  Random random(20261130);
  for (int round = 0; round < rounds; ++round) {
    std::string text = good;
    for (std::uint64_t edits = random() % 3 + 1; edits > 0; --edits) {
      (round % 3 == 0 ? damage : edit_json)(text, random);
    }
    check(text);
  }
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(WorkloadReader, MutatedFilesAreRefusedOrValid) {
  const std::string good = to_json(random_workload(3, 12, 9));
  int accepted = 0, refused = 0;
  mutate(good, 6000, [&](const std::string& text) {
    try {
      const Workload workload = workload_from_json(text);
      ASSERT_NO_THROW(validate(workload)) << text;
      ASSERT_EQ(workload_from_json(to_json(workload)), workload) << text;
      ++accepted;
    } catch (const WorkloadError&) {
      ++refused;
    }
  });
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 1000);
}

TEST(WorkloadReader, DeepNestingIsAnErrorNotACrash) {
  EXPECT_THROW(workload_from_json(nested(1'000'000)), WorkloadError);
  EXPECT_THROW(workload_from_json("{\"tensors\": " + nested(100'000) + "}"), WorkloadError);
}

class PlanReader : public testing::Test {
 protected:
  PlanReader() {
    std::int64_t least = 1;
    for (const std::int64_t bytes : working_sets(workload_)) least = std::max(least, bytes);
    workload_.budget = (least + footprint(workload_)) / 2;
    LookaheadOptions options;
    options.rounds = 3;
    plan_ = plan_lookahead(workload_, options);
  }

  Workload workload_ = random_workload(5, 14, 10);
  Plan plan_;
};

TEST_F(PlanReader, MutatedPlansAreRefusedOrFit) {
  ASSERT_FALSE(plan_.actions.empty());
  const std::string good = to_json(plan_, workload_);
  int accepted = 0, refused = 0;
  mutate(good, 6000, [&](const std::string& text) {
    try {
      const Plan plan = plan_from_json(text, workload_);
      ASSERT_TRUE(plan_errors(workload_, plan).empty()) << text;
      ASSERT_EQ(plan_from_json(to_json(plan, workload_), workload_), plan) << text;
      ++accepted;
    } catch (const WorkloadError&) {
      ++refused;
    }
  });
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 1000);
}

TEST_F(PlanReader, DeepNestingIsAnErrorNotACrash) {
  EXPECT_THROW(plan_from_json(nested(1'000'000), workload_), WorkloadError);
}

}  // namespace
}  // namespace tferry::fuzz
