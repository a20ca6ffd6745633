#include "analyzer/planner/lookahead.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace tferry::analyzer {
namespace {

class Lookahead {
 public:
  Lookahead(const Workload& workload, const LookaheadOptions& options)
      : workload_(workload),
        options_(options),
        uses_(workload),
        count_(workload.operations.size()),
        live_(live_bytes(workload, uses_)),
        random_(options.seed) {
    for (const Gap& gap : gaps(workload, uses_)) {
      if (gap.needed && gap.before > gap.after + 1) gaps_.push_back(gap);
    }
    active_.resize(count_);
    for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
      for (std::uint32_t t = gaps_[g].after + 1; t < gaps_[g].before; ++t) active_[t % count_].push_back(g);
    }
    started_.assign(2 * count_ + 1, 0);
    for (std::size_t i = 0; i < 2 * count_; ++i) {
      started_[i + 1] =
          started_[i] + std::max(1.0, static_cast<double>(workload.operations[i % count_].duration_ns));
    }
  }

  Plan search() {
    Plan best;
    std::vector<double> best_weights;
    bool best_from_next_use = true;
    std::int64_t best_margin = 0;
    std::vector<double> stalls;
    const auto consider = [&] {
      Plan plan = make();
      if (!best.planner.empty() && plan.actions == best.actions) return;
      plan.predicted_ns = judge(plan);
      if (!best.planner.empty() && plan.predicted_ns > best.predicted_ns) return;
      best = std::move(plan);
      best_weights = weights_;
      best_from_next_use = from_next_use_;
      best_margin = margin_;
      stalls = last_.stalls_ns;
    };
    int round = 0;
    for (const Start start : {Start::kNextUse, Start::kGap, Start::kCentre}) {
      for (const int chunks : {0, 2, 6, 16}) {
        if (round > 0 && round >= options_.rounds) break;
        ++round;
        set_weights(start);
        margin_ = chunks * options_.simulation.chunk_bytes;
        if (margin_ > workload_.budget / 4) continue;
        consider();
        if (best.actions.empty()) return best;
      }
    }
    for (; round < options_.rounds; ++round) {
      weights_ = best_weights;
      from_next_use_ = best_from_next_use;
      margin_ = best_margin;
      perturb(stalls);
      consider();
    }
    PlanPolicy policy(workload_, uses_, best);
    best.predicted_ns = simulate(workload_, policy, options_.simulation).time_ns;
    return best;
  }

 private:
  /// Which gaps are worth most at first: those that are used again last (Belady's rule: fewest bytes), those
  /// that last longest (time for both transfers), those in the middle of which the excess is highest (the
  /// same time for each).
  enum class Start { kNextUse, kGap, kCentre };

  void set_weights(Start start) {
    from_next_use_ = start == Start::kNextUse;
    weights_.assign(gaps_.size(), 1.0);
    if (start == Start::kNextUse) return;
    const auto peak = static_cast<std::size_t>(std::max_element(live_.begin(), live_.end()) - live_.begin());
    for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
      const Gap& gap = gaps_[g];
      const std::size_t at = peak > gap.after ? peak : peak + count_;
      const double length = started_[gap.before] - started_[gap.after + 1];
      const bool around = at < gap.before;
      const double nearer =
          around ? std::min(started_[gap.before] - started_[at], started_[at] - started_[gap.after + 1]) : 0;
      weights_[g] = start == Start::kGap ? length : nearer + 1e-3 * length;
    }
  }

  double judge(const Plan& plan) {
    PlanPolicy policy(workload_, uses_, plan);
    SimulationOptions brief = options_.simulation;
    brief.iterations = std::min(brief.iterations, 4);
    last_ = simulate(workload_, policy, brief);
    return last_.time_ns;
  }

  Plan make() const {
    Plan plan;
    plan.planner = "lookahead";
    plan.actions = choose();
    set_returns(plan.actions);
    std::sort(plan.actions.begin(), plan.actions.end(), [](const PlanAction& a, const PlanAction& b) {
      if (a.leave_after != b.leave_after) return a.leave_after < b.leave_after;
      return a.needed_by != b.needed_by ? a.needed_by < b.needed_by : a.tensor < b.tensor;
    });
    return plan;
  }

  /// The operation with the fewest live bytes, where the walk begins and nearly nothing is parked.
  std::size_t lowest() const {
    return static_cast<std::size_t>(std::min_element(live_.begin(), live_.end()) - live_.begin());
  }

  std::vector<PlanAction> choose() const {
    std::vector<std::int64_t> parked(gaps_.size());
    std::vector<std::int64_t> away(count_);
    const std::size_t first = lowest();
    for (std::size_t step = 0; step < count_; ++step) {
      const std::size_t t = (first + step) % count_;
      std::int64_t excess = live_[t] - (workload_.budget - margin_) - away[t];
      if (excess <= 0) continue;
      std::vector<std::pair<double, std::uint32_t>> heap;  // only a few of many will be taken
      for (const std::uint32_t g : active_[t]) {
        if (parked[g] < size(g)) heap.emplace_back(worth(g, t), g);
      }
      const auto less = [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second > b.second;
      };
      std::make_heap(heap.begin(), heap.end(), less);
      while (excess > 0 && !heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), less);
        const std::uint32_t g = heap.back().second;
        heap.pop_back();
        const std::int64_t chunk = options_.simulation.chunk_bytes;
        const std::int64_t whole = (std::min(excess, size(g)) + chunk - 1) / chunk * chunk;
        const std::int64_t bytes = std::min(whole, size(g) - parked[g]);
        parked[g] += bytes;
        excess -= bytes;
        for (std::uint32_t at = gaps_[g].after + 1; at < gaps_[g].before; ++at) away[at % count_] += bytes;
      }
    }
    std::vector<PlanAction> actions;
    for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
      const Gap& gap = gaps_[g];
      if (parked[g] > 0) actions.push_back({gap.tensor, parked[g], gap.after, gap.before, gap.before});
    }
    return actions;
  }

  std::int64_t size(std::uint32_t g) const { return workload_.tensors[gaps_[g].tensor].size; }

  /// The weight; from the first start, times the time from operation t to the next use.
  double worth(std::uint32_t g, std::size_t t) const {
    if (!from_next_use_) return weights_[g];
    const std::size_t from = t > gaps_[g].after ? t : t + count_;
    return weights_[g] * (started_[gaps_[g].before] - started_[from]);
  }

  void set_returns(std::vector<PlanAction>& actions) const {
    std::vector<std::int64_t> room(count_);
    for (std::size_t t = 0; t < count_; ++t) room[t] = workload_.budget - live_[t];
    for (const PlanAction& action : actions) {
      for (std::uint32_t t = action.leave_after + 1; t < action.needed_by; ++t)
        room[t % count_] += action.bytes;
    }
    const std::size_t first = lowest();
    const auto due = [&](const PlanAction& action) { return (action.needed_by + count_ - first) % count_; };
    std::sort(actions.begin(), actions.end(), [&](const PlanAction& a, const PlanAction& b) {
      return due(a) != due(b) ? due(a) < due(b) : a.tensor < b.tensor;
    });
    for (PlanAction& action : actions) {
      while (action.return_from > action.leave_after + 1 &&
             room[(action.return_from - 1) % count_] >= action.bytes) {
        --action.return_from;
        room[action.return_from % count_] -= action.bytes;
      }
    }
  }

  /// Changes the weights of a few gaps, mostly of such that have to do with an operation that stalled.
  void perturb(const std::vector<double>& stalls) {
    double sum = 0;
    for (const double stall : stalls) sum += stall;
    const int changes = 1 + static_cast<int>(random_() % 4);
    for (int i = 0; i < changes; ++i) {
      std::size_t at = random_() % count_;
      if (sum > 0 && random_() % 4 != 0) {
        double draw = sum * (static_cast<double>(random_() % 1'000'000) * 1e-6);
        for (at = 0; at + 1 < count_ && draw >= stalls[at]; ++at) draw -= stalls[at];
      }
      if (active_[at].empty()) continue;
      const std::uint32_t g = active_[at][random_() % active_[at].size()];
      weights_[g] *=
          std::exp((static_cast<double>(random_() % 2001) - 1000) * (random_() % 3 == 0 ? 6e-3 : 1e-3));
    }
  }

  const Workload& workload_;
  LookaheadOptions options_;
  Uses uses_;
  std::size_t count_;
  std::vector<std::int64_t> live_;
  std::mt19937 random_;
  std::vector<Gap> gaps_;                           ///< in which something can be parked
  std::vector<std::vector<std::uint32_t>> active_;  ///< by operation: gaps around it
  std::vector<double> started_;  ///< by operation over two iterations, nothing ever waiting
  std::vector<double> weights_;  ///< by gap
  bool from_next_use_ = true;
  std::int64_t margin_ = 0;  ///< bytes parked beyond need, so that transfers have time
  Simulation last_;
};

}  // namespace

Plan plan_lookahead(const Workload& workload, const LookaheadOptions& options) {
  return Lookahead(workload, options).search();
}

}  // namespace tferry::analyzer
