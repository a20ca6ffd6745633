// Explores every state that the slot protocol can reach, with the code that ranks run: not a model of it.
// Ranks act in any order, a grant is chosen and made in two steps between which anything may happen, time
// passes whenever it likes, and one rank is killed or stopped (and may wake up) at any moment.
#include "runtime/coordination/slot_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>

namespace tferry::runtime {
namespace {

using trace::SlotOrder;
using trace::SlotSegment;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLease = 20 * kMs;
constexpr std::int64_t kTick = kLease / 2;
constexpr auto kIn = LinkDirection::kIn;
constexpr std::size_t kMost = 3;

enum class Life : std::uint8_t { kRuns, kStopped, kDead };
/// At the collective, at which all meet, a rank neither asks nor holds.
enum class Phase : std::uint8_t { kComputes, kWaits, kMoves, kAtCollective };

struct RankState {
  Life life = Life::kRuns;
  Phase phase = Phase::kComputes;
  int transfers_left = 0;
  SlotTable::Grant grant{};
  bool has_proposal = false;
  SlotTable::Proposal proposal{};
};

/// Everything that can differ: of the segment the words in use, and the ranks.
struct State {
  std::uint64_t slot = 0;
  std::array<std::uint32_t, kMost> waiting{};
  std::array<std::int64_t, kMost> since{}, deadline{}, alive{};
  std::array<RankState, kMost> ranks{};
  std::int64_t now = 1'000'000 * kMs;
  bool fault_left = true;
};

class Explorer {
 public:
  Explorer(std::size_t ranks, int transfers, SlotOrder order)
      : count_(ranks), segment_(SlotSegment::in_memory(order, kLease)), table_(*segment_) {
    for (std::size_t r = 0; r < count_; ++r) state_.ranks[r].transfers_left = transfers;
    for (std::size_t r = 0; r < count_; ++r)
      self_.push_back(table_.join(1, static_cast<std::uint32_t>(r), state_.now).value());
    save();
  }

  /// Number of different states.
  std::size_t explore() {
    std::unordered_set<std::string> seen{key()};
    std::deque<State> left{state_};
    while (!left.empty()) {
      const State from = left.front();
      left.pop_front();
      for (std::size_t action = 0; action < actions(); ++action) {
        load(from);
        if (!act(action)) continue;
        save();
        check_one_owner();
        if (!seen.insert(key()).second) continue;
        left.push_back(state_);
        check_progress();
        if (::testing::Test::HasFailure()) return seen.size();
      }
    }
    return seen.size();
  }

 private:
  static constexpr std::size_t kActionsOfRank = 7;
  std::size_t actions() const { return count_ * kActionsOfRank + 1; }

  void load(const State& state) {
    state_ = state;
    auto& layout = segment_->layout();
    layout.link[0].slot[0] = state.slot;
    for (std::size_t r = 0; r < count_; ++r) {
      layout.member[r].request[0].waiting = state.waiting[r];
      layout.member[r].request[0].since_ns = state.since[r];
      layout.member[r].request[0].deadline_ns = state.deadline[r];
      layout.member[r].request[0].round = round_of(r);
      layout.member[r].alive_ns = state.alive[r];
    }
  }
  void save() {
    const auto& layout = segment_->layout();
    state_.slot = layout.link[0].slot[0];
    for (std::size_t r = 0; r < count_; ++r) {
      state_.waiting[r] = layout.member[r].request[0].waiting;
      state_.since[r] = layout.member[r].request[0].since_ns;
      state_.deadline[r] = layout.member[r].request[0].deadline_ns;
      state_.alive[r] = layout.member[r].alive_ns;
    }
  }

  /// False: nothing to do.
  bool act(std::size_t action) {
    if (action == count_ * kActionsOfRank) return tick();
    const std::size_t r = action / kActionsOfRank;
    RankState& rank = state_.ranks[r];
    switch (action % kActionsOfRank) {
      case 0:
        return rank.life == Life::kRuns && begin(r);
      case 1:
        return rank.life == Life::kRuns && take(r);
      case 2:
        return rank.life == Life::kRuns && choose(r);
      case 3:
        return rank.life == Life::kRuns && commit(r);
      case 4:
        // The GPU ends transfers of a stopped process as well, but only its agent can tell the others.
        return rank.life == Life::kRuns && end(r);
      case 5:
        if (!state_.fault_left || rank.life != Life::kRuns) return false;
        state_.fault_left = false;
        rank.life = Life::kDead;
        return true;
      default:
        if (rank.life == Life::kStopped) {
          rank.life = Life::kRuns;
          return true;
        }
        if (!state_.fault_left || rank.life != Life::kRuns) return false;
        state_.fault_left = false;
        rank.life = Life::kStopped;
        return true;
    }
  }

  bool tick() {
    state_.now += kTick;
    for (std::size_t r = 0; r < count_; ++r) {
      if (state_.ranks[r].life == Life::kRuns) table_.keep_alive(self_[r], state_.now);
    }
    return true;
  }
  bool begin(std::size_t r) {
    RankState& rank = state_.ranks[r];
    if (rank.phase == Phase::kWaits && !table_.waits(self_[r], kIn)) return ask(r);
    if (rank.phase != Phase::kComputes) return false;
    if (rank.transfers_left == 0) {
      rank.phase = Phase::kAtCollective;
      return true;
    }
    --rank.transfers_left;
    rank.phase = Phase::kWaits;
    return ask(r);
  }
  bool ask(std::size_t r) {
    table_.keep_alive(self_[r], state_.now);
    table_.ask(self_[r], kIn, {state_.now - static_cast<std::int64_t>(r) * kMs, round_of(r)}, state_.now);
    return true;
  }
  /// A transfer in each iteration.
  std::uint64_t round_of(std::size_t r) const {
    return 100 - static_cast<unsigned>(state_.ranks[r].transfers_left);
  }
  bool take(std::size_t r) {
    RankState& rank = state_.ranks[r];
    if (rank.phase != Phase::kWaits) return false;
    const auto grant = table_.granted(self_[r], kIn);
    if (!grant) return false;
    rank.grant = *grant;
    rank.phase = Phase::kMoves;
    return true;
  }
  bool choose(std::size_t r) {
    RankState& rank = state_.ranks[r];
    if (rank.phase != Phase::kWaits || rank.has_proposal) return false;
    const auto proposal = table_.choose(0, kIn, state_.now);
    if (!proposal) return false;
    rank.proposal = *proposal;
    rank.has_proposal = true;
    return true;
  }
  bool commit(std::size_t r) {
    RankState& rank = state_.ranks[r];
    if (!rank.has_proposal) return false;
    rank.has_proposal = false;
    table_.commit(rank.proposal);
    return true;
  }
  bool end(std::size_t r) {
    RankState& rank = state_.ranks[r];
    if (rank.phase != Phase::kMoves) return false;
    rank.phase = Phase::kComputes;
    table_.give_back(self_[r], kIn, rank.grant, state_.now);
    return true;
  }

  static std::int64_t age(std::uint64_t word, std::int64_t now) {
    return now - static_cast<std::int64_t>(word & ((std::uint64_t{1} << 40) - 1)) * 1000;
  }

  /// Of those that hold a grant whose lease has not ended, there is at most one.
  void check_one_owner() const {
    int owners = 0;
    for (std::size_t r = 0; r < count_; ++r) {
      const RankState& rank = state_.ranks[r];
      owners += rank.phase == Phase::kMoves && age(rank.grant.word, state_.now) <= kLease;
    }
    EXPECT_LE(owners, 1);
  }

  /// From here on everybody that runs does what it has to: then all of them arrive at the collective, within
  /// one lease for each rank that is gone and the time of the transfers, and the dead hold nothing that is
  /// wanted.
  void check_progress() {
    const State from = state_;
    const auto arrived = [&] {
      for (std::size_t r = 0; r < count_; ++r) {
        if (state_.ranks[r].life == Life::kRuns && state_.ranks[r].phase != Phase::kAtCollective)
          return false;
      }
      return true;
    };
    int ticks = 0;
    for (; ticks < 8 && !arrived(); ++ticks) {
      for (int step = 0; step < 24; ++step) {
        for (std::size_t r = 0; r < count_; ++r) {
          for (std::size_t action = 0; action < 5; ++action) act(r * kActionsOfRank + action);
        }
      }
      tick();
    }
    EXPECT_TRUE(arrived()) << "stuck after " << ticks << " half leases";
    // A rank that is gone may hold the slot for a lease, and a grant to it that was under way when it went
    // for another.
    EXPECT_LE(ticks, 5);
    load(from);
  }

  /// What the rules can tell apart: words by whether they are the current one, times by their age up to the
  /// ends of leases.
  std::string key() const {
    std::string key;
    const auto put = [&](std::int64_t value) { key.push_back(static_cast<char>(value)); };
    const auto ticks = [&](std::int64_t ns) { return std::clamp<std::int64_t>(ns / kTick, 0, 3); };
    put(static_cast<std::int64_t>(state_.slot >> 56));
    put(ticks(age(state_.slot, state_.now)));
    put(state_.fault_left);
    for (std::size_t r = 0; r < count_; ++r) {
      const RankState& rank = state_.ranks[r];
      put(static_cast<int>(rank.life));
      put(static_cast<int>(rank.phase));
      put(rank.transfers_left);
      put(state_.waiting[r]);
      put(ticks(state_.now - state_.alive[r]));
      put(rank.phase == Phase::kMoves ? 1 + (rank.grant.word == state_.slot) : 0);
      put(rank.phase == Phase::kMoves ? ticks(age(rank.grant.word, state_.now)) : 0);
      const bool current = rank.has_proposal && rank.proposal.expected == state_.slot;
      put(rank.has_proposal ? 1 + current : 0);
      put(current ? static_cast<std::int64_t>(rank.proposal.desired >> 56) : 0);
      put(current ? ticks(age(rank.proposal.desired, state_.now)) : 0);
    }
    return key;
  }

  std::size_t count_;
  std::unique_ptr<SlotSegment> segment_;
  SlotTable table_;
  std::vector<SlotTable::Identity> self_;
  State state_;
};

TEST(SlotModel, TwoRanksNeverDeadlockNorShareNorStarve) {
  for (const SlotOrder order :
       {SlotOrder::kFixed, SlotOrder::kRotating, SlotOrder::kDeadline, SlotOrder::kBehind}) {
    const std::size_t states = Explorer(2, 2, order).explore();
    EXPECT_LT(1000U, states);
    RecordProperty("states", static_cast<int>(states));
  }
}

TEST(SlotModel, ThreeRanksNeverDeadlockNorShareNorStarve) {
  const std::size_t states = Explorer(3, 1, SlotOrder::kFixed).explore();
  EXPECT_LT(10000U, states);
  RecordProperty("states", static_cast<int>(states));
}

}  // namespace
}  // namespace tferry::runtime
