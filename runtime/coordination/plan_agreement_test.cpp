#include "runtime/coordination/plan_agreement.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace tferry::runtime {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLease = 20 * kMs;

/// Ranks of a job, each at the end of some iteration.
class Job {
 public:
  explicit Job(std::size_t ranks)
      : segment_(trace::SlotSegment::in_memory(trace::SlotOrder::kBehind, kLease)),
        table_(*segment_),
        rounds(ranks) {
    for (std::size_t r = 0; r < ranks; ++r) {
      self_.push_back(table_.join(1, static_cast<std::uint32_t>(r), now).value());
      agreements_.push_back(std::make_unique<PlanAgreement>(*segment_));
    }
  }
  /// That rank ends its next iteration. True: its plan changes there.
  bool ends(std::size_t rank, bool plan_at_hand) {
    table_.keep_alive(self_[rank], now);
    table_.set_round(self_[rank], ++rounds[rank]);
    return plan_at_hand && agreements_[rank]->may_change(self_[rank], rounds[rank], now);
  }

 private:
  std::unique_ptr<trace::SlotSegment> segment_;
  SlotTable table_;
  std::vector<SlotTable::Identity> self_;
  std::vector<std::unique_ptr<PlanAgreement>> agreements_;

 public:
  std::vector<std::uint64_t> rounds;
  std::int64_t now = 1000 * kMs;
};

TEST(PlanAgreement, ARankAloneNeedsNobody) {
  Job job(1);
  EXPECT_TRUE(job.ends(0, true));
  EXPECT_TRUE(job.ends(0, true)) << "and so for the next plan";
}

// Plans come at different times, ranks run apart by an iteration: whatever happens, all change at one count.
TEST(PlanAgreement, AllChangeAtTheEndOfTheSameIteration) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t ranks = 2 + random() % 6;
    Job job(ranks);
    for (int change = 0; change < 3; ++change) {
      std::vector<std::uint64_t> ready(ranks), changed(ranks);
      const std::uint64_t base = job.rounds[0];
      for (auto& round : ready) round = base + 1 + random() % 8;
      std::size_t left = ranks;
      while (left > 0) {
        const std::size_t rank = random() % ranks;
        // They wait for each other in each iteration, and launch at most one ahead.
        bool first = false;
        for (const std::uint64_t other : job.rounds) first |= other < job.rounds[rank];
        if (first) continue;
        const bool at_hand = changed[rank] == 0 && job.rounds[rank] + 1 >= ready[rank];
        if (!job.ends(rank, at_hand)) continue;
        changed[rank] = job.rounds[rank];
        --left;
      }
      for (const std::uint64_t round : changed) EXPECT_EQ(changed[0], round) << "seed " << seed;
    }
  }
}

TEST(PlanAgreement, NobodyWaitsForEverForARankWithoutAPlan) {
  Job job(2);
  int iterations = 0;
  do {
    job.ends(1, false);
    ASSERT_LE(++iterations, PlanAgreement::kPatience);
  } while (!job.ends(0, true));
  EXPECT_EQ(PlanAgreement::kPatience, iterations);
}

TEST(PlanAgreement, ARankThatNoLongerLooksIsNotWaitedFor) {
  Job job(2);
  job.ends(1, false);
  job.now += 2 * kLease;
  EXPECT_TRUE(job.ends(0, true));
}

}  // namespace
}  // namespace tferry::runtime
