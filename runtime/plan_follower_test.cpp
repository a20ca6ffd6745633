#include "runtime/plan_follower.hpp"

#include "tests/runtime/plan_story.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <vector>

namespace tferry::runtime {
namespace {

using runtime_test::PlanStory;
using Kind = PlanStory::Event::Kind;

constexpr std::uint64_t kChunk = 4096;
constexpr auto kSize = static_cast<std::int64_t>(2 * kChunk);
constexpr std::uint32_t kNone = PlanFollower::kNone;

/// A chain of layers, forward and back, all activations of one size.
PlanStory chain(int layers) {
  PlanStory story(kChunk);
  std::vector<int> weights, activations;
  for (int i = 0; i < layers; ++i) weights.push_back(story.persistent(kSize));
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  activations.push_back(story.allocate(kSize));
  story.operation(1, {activations[0]});
  for (int i = 0; i < layers; ++i) {
    activations.push_back(story.allocate(kSize));
    story.operation(2, {activations[at(i)], weights[at(i)], activations[at(i + 1)]});
  }
  for (int i = layers - 1; i >= 0; --i) {
    story.operation(3, {activations[at(i + 1)], activations[at(i)], weights[at(i)]});
    story.free(activations[at(i + 1)]);
  }
  story.operation(4, {activations[0]});
  story.free(activations[0]);
  return story;
}

/// A program that does what the story tells, and other things where a test asks for them.
class Program {
 public:
  explicit Program(const PlanStory& story)
      : story_(story),
        index_(std::make_shared<const PlanIndex>(story.plan())),
        follower(index_, 0),
        addresses_(story.tensors().size(), 0) {
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      if (story.tensors()[i].persistent) addresses_[i] = next_address_++;
    }
  }

  /// Carries out events [from, to) of an iteration; true when the plan said that an iteration ended.
  bool run(std::size_t from = 0, std::size_t to = ~std::size_t{0}) {
    bool ended = false;
    for (std::size_t i = from; i < std::min(to, story_.events().size()); ++i) {
      const PlanStory::Event& event = story_.events()[i];
      if (event.kind == Kind::kAllocate) allocate(event.tensor);
      if (event.kind == Kind::kFree) free(event.tensor);
      if (event.kind == Kind::kOperation) ended = operate(event);
    }
    return ended;
  }
  /// An operation that the story does not tell.
  void stray(std::uint64_t signature = 77) { follower.end(follower.begin(signature, {}), true); }
  std::uint64_t extra_allocation(std::int64_t bytes) {
    follower.allocated(next_address_, bytes);
    return next_address_++;
  }

  /// Tensors whose allocation the follower takes for another's; without an allocation there is none.
  int wrong() const {
    int count = 0;
    for (std::uint32_t tensor = 0; tensor < addresses_.size(); ++tensor) {
      const std::uint64_t taken = follower.bindings().address_of(tensor);
      count += taken != 0 && taken != addresses_[tensor] ? 1 : 0;
    }
    return count;
  }
  int misplaced() const { return misplaced_; }

 private:
  void allocate(int tensor) {
    auto& address = addresses_[static_cast<std::size_t>(tensor)];
    address = next_address_++;
    follower.allocated(address, story_.tensors()[static_cast<std::size_t>(tensor)].bytes);
  }
  void free(int tensor) {
    auto& address = addresses_[static_cast<std::size_t>(tensor)];
    if (address != 0) follower.freed(address);
    address = 0;
  }
  bool operate(const PlanStory::Event& event) {
    std::vector<NamedAllocation> names;
    for (const int name : event.names) {
      const auto i = static_cast<std::size_t>(name);
      if (addresses_[i] != 0) names.push_back({addresses_[i], story_.tensors()[i].bytes});
    }
    const auto place = follower.begin(event.signature, names);
    if (place.position != kNone && &story_.events()[position_event(place.position)] != &event) ++misplaced_;
    return follower.end(place, true);
  }
  std::size_t position_event(std::uint32_t position) const {
    for (std::size_t i = 0; i < story_.events().size(); ++i) {
      if (story_.events()[i].kind == Kind::kOperation && position-- == 0) return i;
    }
    return 0;
  }

  const PlanStory& story_;
  std::shared_ptr<const PlanIndex> index_;

 public:
  PlanFollower follower;

 private:
  std::vector<std::uint64_t> addresses_;
  std::uint64_t next_address_ = 1;
  int misplaced_ = 0;
};

TEST(PlanFollower, IsReadyAfterAnIterationItHasSeenFromTheBeginning) {
  const PlanStory story = chain(6);
  Program program(story);
  EXPECT_TRUE(program.run());
  EXPECT_FALSE(program.follower.ready()) << "the first operations told nothing yet";
  EXPECT_TRUE(program.run());
  EXPECT_TRUE(program.follower.ready());
  EXPECT_EQ(0, program.wrong());
  EXPECT_EQ(0U, program.follower.bindings().unknown());
}

TEST(PlanFollower, StartsInTheMiddleOfAnIteration) {
  const PlanStory story = chain(6);
  Program program(story);
  program.run(9);
  program.run();
  EXPECT_TRUE(program.follower.ready());
  EXPECT_EQ(0, program.wrong());
}

TEST(PlanFollower, CountsWhatIsFollowed) {
  const PlanStory story = chain(4);
  Program program(story);
  program.run();
  program.run();
  program.follower.set_adopted(true);
  program.run();
  program.run();
  const auto& counts = program.follower.counts();
  EXPECT_EQ(2U * story.operations(), counts.operations);
  EXPECT_EQ(counts.operations, counts.matched);
  EXPECT_EQ(2U, counts.iterations);
  EXPECT_EQ(2U, counts.followed);
  EXPECT_EQ(0U, counts.departures);
}

TEST(PlanFollower, AnOperationMoreIsAnExcursionWithinTheIteration) {
  const PlanStory story = chain(6);
  Program program(story);
  program.run();
  program.run();
  program.follower.set_adopted(true);
  program.run(0, 8);
  program.stray();
  EXPECT_FALSE(program.follower.following());
  program.run(8);
  EXPECT_TRUE(program.follower.following());
  EXPECT_EQ(0, program.misplaced());
  EXPECT_EQ(0, program.wrong());
  EXPECT_EQ(1U, program.follower.counts().departures);
  EXPECT_EQ(1U, program.follower.counts().rejoins);
  EXPECT_EQ(0U, program.follower.counts().followed);
  program.run();
  EXPECT_EQ(1U, program.follower.counts().followed);
}

TEST(PlanFollower, AnEvaluationBetweenIterationsIsLeftAndTheNextIterationIsFollowed) {
  const PlanStory story = chain(6);
  Program program(story);
  program.run();
  program.run();
  program.follower.set_adopted(true);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t own = program.extra_allocation(kSize);
    program.stray(100 + static_cast<std::uint64_t>(i % 7));
    program.follower.freed(own);
  }
  program.run();
  program.run();
  EXPECT_TRUE(program.follower.following());
  EXPECT_EQ(0, program.wrong());
  EXPECT_EQ(1U, program.follower.counts().followed);
}

TEST(PlanFollower, AnotherProgramIsForeign) {
  const PlanStory story = chain(6);
  Program program(story);
  for (int i = 0; i < 900; ++i) program.stray(static_cast<std::uint64_t>(50 + i % 9));
  EXPECT_FALSE(program.follower.foreign());
  for (int i = 0; i < 200; ++i) program.stray(static_cast<std::uint64_t>(50 + i % 9));
  EXPECT_TRUE(program.follower.foreign());
  program.run();
  EXPECT_FALSE(program.follower.foreign()) << "it had only begun late";
}

TEST(PlanFollower, MemoryThatDoesNotFitIsNoticed) {
  const PlanStory story = chain(6);
  const auto index = std::make_shared<const PlanIndex>(story.plan());
  PlanFollower follower(index, 0);
  for (int iteration = 0; iteration < 10; ++iteration) {
    for (std::uint32_t i = 0; i < index->size(); ++i) {
      follower.end(follower.begin(index->signature(i), {}), true);
    }
    EXPECT_FALSE(follower.ready());
  }
  EXPECT_TRUE(follower.mismatched());
}

TEST(PlanFollower, IsLostWhenTheProgramGoesOnWithSomethingElse) {
  const PlanStory story = chain(6);
  Program program(story);
  program.run();
  program.run();
  program.follower.set_adopted(true);
  for (int i = 0; i < 200; ++i) program.stray();
  EXPECT_FALSE(program.follower.lost());
  for (int i = 0; i < 200; ++i) program.stray();
  EXPECT_TRUE(program.follower.lost());
}

/// Iterations with operations more and less, allocations more, and late frees: once the program does again
/// what the plan says, everything is known rightly after two iterations at most.
RC_GTEST_PROP(PlanFollowerProperty, KnowsEverythingAgainSoonAfterSurprises, ()) {
  const PlanStory story = chain(*rc::gen::inRange(2, 12));
  Program program(story);
  program.run(*rc::gen::inRange<std::size_t>(0, story.events().size()));
  program.run();
  program.run();
  RC_ASSERT(program.follower.ready());
  program.follower.set_adopted(true);
  for (int iteration = 0; iteration < 3; ++iteration) {
    std::vector<std::uint64_t> late;
    for (std::size_t event = 0; event < story.events().size(); ++event) {
      const bool surprise = *rc::gen::inRange(0, 8) == 0;
      const int what = surprise ? *rc::gen::inRange(0, 4) : -1;
      const int times = surprise ? *rc::gen::inRange(1, 30) : 0;
      for (int i = 0; i < times && what == 0; ++i) program.stray(*rc::gen::inRange<std::uint64_t>(1, 9));
      if (what == 1) late.push_back(program.extra_allocation(kSize));
      if (what == 2 && !late.empty()) {
        program.follower.freed(late.back());
        late.pop_back();
      }
      if (what != 3 || story.events()[event].kind != Kind::kOperation) program.run(event, event + 1);
    }
    for (const std::uint64_t address : late) program.follower.freed(address);
  }
  program.run();
  program.run();
  RC_ASSERT(program.run());
  RC_ASSERT(program.follower.following());
  RC_ASSERT(program.wrong() == 0);
  RC_ASSERT(program.follower.bindings().unknown() == 0U);
}

}  // namespace
}  // namespace tferry::runtime
