// The golden session's job (GPT-2, recorded on an H200), event by event as its hooks saw it, followed through
// a plan that the analyzer makes from that session: what the two have agreed on is what real programs do.
#include "analyzer/session/analysis.hpp"
#include "analyzer/session/flat_plan.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "runtime/plan_follower.hpp"
#include "tests/replay/recorded_job.hpp"
#include "trace/records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tferry::runtime {
namespace {

using trace::FlatPlan;
using trace::OperationSignature;

FlatPlan golden_plan() {
  trace::Session session = trace::Session::open(TFERRY_GOLDEN "/gpt2.tferry");
  analyzer::AnalysisOptions options;
  options.oversubscription = 1.5;
  options.planner.rounds = 5;
  const auto ranks = analyzer::analyze_session(session, options);
  const analyzer::RankAnalysis& rank = ranks.at(0);
  if (!rank.placed) throw std::runtime_error("no plan for the golden session");
  return analyzer::make_flat_plan(rank, *rank.placed, analyzer::plan_row(rank, *rank.placed), "gpt2.tferry");
}

/// One thing that the job did.
struct Event {
  enum class Kind { kAllocate, kFree, kOperation };
  Kind kind = Kind::kOperation;
  std::uint64_t allocation = 0;
  std::int64_t bytes = 0;
  std::uint64_t signature = 0;
  std::uint64_t operation = 0;
};

/// What the hooks wrote, in the order in which it happened.
struct Recorded {
  std::vector<Event> events;
  std::unordered_map<std::uint64_t, std::int64_t> bytes;                        ///< by allocation
  std::unordered_map<std::uint64_t, std::vector<trace::AccessEntry>> accesses;  ///< by operation

  explicit Recorded(replay::RecordedJob job)
      : accesses(std::move(job.accesses)), strings_(std::move(job.strings)) {
    for (const auto& call : job.calls) std::visit([this](const auto& record) { add(record); }, call);
  }

 private:
  void add(const trace::AllocationRecord& made) {
    bytes[made.allocation] = made.bytes;
    events.push_back({Event::Kind::kAllocate, made.allocation, made.bytes, 0, 0});
  }
  void add(const trace::FreeRecord& freed) {
    events.push_back({Event::Kind::kFree, freed.allocation, 0, 0, 0});
  }
  void add(const trace::KernelLaunchRecord& call) {
    const auto extents = [](const trace::Dim3& d) { return std::array<std::uint32_t, 3>{d.x, d.y, d.z}; };
    operation(call, OperationSignature::launch(strings_[call.name], extents(call.grid), extents(call.block)));
  }
  void add(const trace::MemcpyCallRecord& call) { operation(call, OperationSignature::copy(call.bytes)); }
  void add(const trace::MemsetCallRecord& call) { operation(call, OperationSignature::memset(call.bytes)); }

  template <class Call>
  void operation(const Call& call, std::uint64_t signature) {
    events.push_back({Event::Kind::kOperation, 0, 0, signature, call.operation});
  }
  std::unordered_map<trace::StringId, std::string> strings_;
};

/// The job as the runtime would see it with pieces of the plan's size.
class Job {
 public:
  Job(Recorded recorded, const FlatPlan& plan)
      : events_(std::move(recorded.events)), smallest_(static_cast<std::int64_t>(plan.chunk_bytes / 2)) {
    for (const auto& [operation, entries] : recorded.accesses) {
      auto& names = names_[operation];
      for (const trace::AccessEntry& entry : entries) {
        const NamedAllocation name{entry.allocation, recorded.bytes[entry.allocation]};
        const bool known = std::any_of(names.begin(), names.end(),
                                       [&](const auto& other) { return other.address == name.address; });
        if (!known && name.bytes > smallest_) names.push_back(name);
      }
    }
  }

  /// Feeds the follower and tells the watcher. Arguments hold stale addresses, and what those mean depends on
  /// where memory lies: one of `noise` operations names something more, and one something less, than it did
  /// when it was recorded. 0: none does.
  template <class Watcher>
  void run(PlanFollower& follower, Watcher& watcher, unsigned noise = 0) {
    std::minstd_rand random(1);
    const auto once_in = [&](unsigned times) { return times != 0 && random() % times == 0; };
    std::vector<NamedAllocation> live;
    for (const Event& event : events_) {
      if (event.kind == Event::Kind::kAllocate && event.bytes > smallest_) {
        live.push_back({event.allocation, event.bytes});
        watcher.allocating(follower.next_of(event.bytes));
        follower.allocated(event.allocation, event.bytes);
      }
      if (event.kind == Event::Kind::kFree) {
        std::erase_if(live, [&](const NamedAllocation& one) { return one.address == event.allocation; });
        watcher.freeing(follower.bindings().tensor_at(event.allocation));
        follower.freed(event.allocation);
      }
      if (event.kind != Event::Kind::kOperation) continue;
      auto names = names_[event.operation];
      const auto other = [&](std::size_t count) { return static_cast<std::ptrdiff_t>(random() % count); };
      if (once_in(noise) && !names.empty()) names.erase(names.begin() + other(names.size()));
      if (once_in(noise) && !live.empty()) {
        const NamedAllocation stale = live[static_cast<std::size_t>(other(live.size()))];
        const bool known = std::any_of(names.begin(), names.end(), [&](const NamedAllocation& name) {
          return name.address == stale.address;
        });
        if (!known) names.insert(names.begin() + other(names.size() + 1), stale);
      }
      const auto place = follower.begin(event.signature, names);
      watcher.operation(place, names);
      const bool ended = follower.end(place, true);
      watcher.submitted(place);
      if (ended) watcher.iteration_ended();
    }
  }

 private:
  std::vector<Event> events_;
  std::int64_t smallest_;
  std::unordered_map<std::uint64_t, std::vector<NamedAllocation>> names_;
};

/// Adopts the plan when it can be, and keeps books of its chunks in the order of the program, as the runtime
/// does.
class Watcher {
 public:
  Watcher(PlanFollower& follower, const PlanIndex& index)
      : follower_(follower), index_(index), owner_(index.plan().chunk_count, kNobody) {}

  void allocating(std::uint32_t tensor) {
    if (!follower_.adopted() || tensor == kNobody) return;
    ++placed;
    take(tensor, 0, index_.plan().tensors[tensor].pieces);
  }
  void freeing(std::uint32_t tensor) {
    if (tensor != kNobody) release(tensor, 0, index_.plan().tensors[tensor].pieces);
  }
  void operation(const PlanFollower::Place& place, const std::vector<NamedAllocation>& named) {
    if (!follower_.adopted() || place.position == kNobody) return;
    for (const FlatPlan::Step& step : index_.returns(place.position))
      take(step.tensor, step.first, step.count);
    for (const std::uint32_t tensor : index_.names(place.position)) {
      const std::uint64_t address = follower_.bindings().address_of(tensor);
      ++names;
      missed += std::none_of(named.begin(), named.end(),
                             [&](const NamedAllocation& name) { return name.address == address; });
    }
  }
  void submitted(const PlanFollower::Place& place) {
    if (!follower_.adopted() || place.position == kNobody) return;
    for (const FlatPlan::Step& step : index_.leaves(place.position))
      release(step.tensor, step.first, step.count);
  }
  void iteration_ended() {
    ++iterations;
    unknown = follower_.bindings().unknown();
    if (follower_.adopted() || !follower_.ready()) return;
    adopted_after = iterations;
    follower_.set_adopted(true);
    const std::vector<bool> away = index_.away_before(0);
    for (std::uint32_t tensor = 0; tensor < index_.plan().tensors.size(); ++tensor) {
      for (std::uint32_t i = 0; i < index_.plan().tensors[tensor].pieces; ++i) {
        const bool there =
            follower_.bindings().address_of(tensor) != 0 && !away[index_.first_piece(tensor) + i];
        if (there) take(tensor, i, 1);
      }
    }
  }

  std::size_t iterations = 0;
  std::size_t adopted_after = 0;
  std::size_t placed = 0;     ///< allocations under the plan
  std::size_t conflicts = 0;  ///< pieces whose chunk another tensor still had
  std::size_t names = 0;      ///< that operations should have by the plan
  std::size_t missed = 0;     ///< and have not
  std::size_t unknown = 0;    ///< at the last iteration's end

 private:
  static constexpr std::uint32_t kNobody = PlanFollower::kNone;

  void take(std::uint32_t tensor, std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first; i < first + count; ++i) {
      std::uint32_t& owner = owner_[index_.places(tensor, 0)[i]];
      conflicts += owner != kNobody && owner != tensor;
      owner = tensor;
    }
  }
  void release(std::uint32_t tensor, std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = first; i < first + count; ++i) {
      std::uint32_t& owner = owner_[index_.places(tensor, 0)[i]];
      if (owner == tensor) owner = kNobody;
    }
  }

  PlanFollower& follower_;
  const PlanIndex& index_;
  std::vector<std::uint32_t> owner_;  ///< by plan chunk: the tensor that is in it
};

TEST(GoldenJob, IsFollowedFromItsSecondIterationOn) {
  const FlatPlan plan = golden_plan();
  ASSERT_EQ("", trace::flat_plan_error(plan));
  const auto index = std::make_shared<const PlanIndex>(plan);
  PlanFollower follower(index, static_cast<std::int64_t>(plan.chunk_bytes / 2));
  Watcher watcher(follower, *index);
  Job(Recorded(replay::read_recorded_job(TFERRY_GOLDEN "/gpt2.runtime.spool.gz")), plan)
      .run(follower, watcher);
  EXPECT_EQ(1U, watcher.adopted_after);
  EXPECT_EQ(4U, watcher.iterations);
  EXPECT_EQ(3U, follower.counts().iterations);
  EXPECT_EQ(3U, follower.counts().followed);
  EXPECT_EQ(0U, watcher.unknown);
  EXPECT_LT(3U * 300, watcher.placed);
  EXPECT_EQ(0U, watcher.conflicts) << "pieces that find their chunk taken";
  // An argument can hold an address that means nothing; which one differs from iteration to iteration.
  EXPECT_LT(5'000U, watcher.names);
  EXPECT_LE(watcher.missed, watcher.names / 500);
}

TEST(GoldenJob, IsFollowedWhereStaleAddressesMeanSomethingElse) {
  const FlatPlan plan = golden_plan();
  const auto index = std::make_shared<const PlanIndex>(plan);
  for (const unsigned noise : {50U, 10U, 4U}) {
    PlanFollower follower(index, static_cast<std::int64_t>(plan.chunk_bytes / 2));
    Watcher watcher(follower, *index);
    Job(Recorded(replay::read_recorded_job(TFERRY_GOLDEN "/gpt2.runtime.spool.gz")), plan)
        .run(follower, watcher, noise);
    EXPECT_GE(2U, watcher.adopted_after) << noise;
    EXPECT_EQ(0U, watcher.conflicts) << "one of " << noise << " operations names something more, or less";
  }
}

}  // namespace
}  // namespace tferry::runtime
