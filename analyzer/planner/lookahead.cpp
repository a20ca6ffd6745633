#include "analyzer/planner/lookahead.hpp"

#include "analyzer/planner/gap_table.hpp"
#include "analyzer/planner/local_search.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

namespace tferry::analyzer {
namespace {

class Lookahead {
 public:
  Lookahead(const Workload& workload, const LookaheadOptions& options)
      : workload_(workload), options_(options), uses_(workload), gaps_(workload), random_(options.seed) {
    set_avoided();
  }

  Plan search() {
    int round = first_starts();
    if (std::all_of(best_.begin(), best_.end(), [](std::int64_t bytes) { return bytes == 0; })) {
      return finish();
    }
    for (const int walks = options_.rounds / 2; round < walks; ++round) {
      weights_ = best_weights_;
      from_next_use_ = best_from_next_use_;
      margin_ = best_margin_;
      perturb();
      consider(choose());
    }
    LocalSearch local(
        gaps_, options_.simulation.chunk_bytes,
        [this](const std::vector<std::int64_t>& parked) { return judge(parked); }, random_);
    best_ = local.improve(best_, options_.rounds - round).parked;
    return finish();
  }

 private:
  /// Which gaps are worth most at first: those that are used again last (Belady's rule: fewest bytes), those
  /// that last longest (time for both transfers), those in the middle of which the excess is highest (the
  /// same time for each).
  enum class Start { kNextUse, kGap, kCentre };

  int first_starts() {
    int round = 0;
    for (const Start start : {Start::kNextUse, Start::kGap, Start::kCentre}) {
      for (const int chunks : {0, 2, 6, 16}) {
        if (round > 0 && round >= options_.rounds) return round;
        ++round;
        set_weights(start);
        margin_ = chunks * options_.simulation.chunk_bytes;
        if (margin_ > workload_.budget / 4) continue;
        consider(choose());
      }
    }
    return round;
  }

  void consider(const std::vector<std::int64_t>& parked) {
    if (parked == best_) return;
    Simulation simulation = judge(parked);
    if (best_ns_ && simulation.time_ns > *best_ns_) return;
    best_ = parked;
    best_ns_ = simulation.time_ns;
    best_weights_ = weights_;
    best_from_next_use_ = from_next_use_;
    best_margin_ = margin_;
    stalls_ = std::move(simulation.stalls_ns);
  }

  Simulation judge(const std::vector<std::int64_t>& parked) const {
    const Plan plan = gaps_.plan(parked);
    PlanPolicy policy(workload_, uses_, plan);
    SimulationOptions brief = options_.simulation;
    brief.iterations = std::min(brief.iterations, 4);
    return simulate(workload_, policy, brief);
  }

  Plan finish() const {
    Plan plan = gaps_.plan(best_);
    PlanPolicy policy(workload_, uses_, plan);
    plan.predicted_ns = simulate(workload_, policy, options_.simulation).time_ns;
    return plan;
  }

  void set_weights(Start start) {
    from_next_use_ = start == Start::kNextUse;
    weights_.assign(gaps_.size(), 1.0);
    if (start == Start::kNextUse) return;
    const std::size_t count = gaps_.operations();
    std::size_t peak = 0;
    for (std::size_t t = 0; t < count; ++t) {
      if (gaps_.live(t) > gaps_.live(peak)) peak = t;
    }
    for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
      const Gap& gap = gaps_[g];
      const std::size_t at = peak > gap.after ? peak : peak + count;
      const double begin = gaps_.start(gap.after + 1), end = gaps_.start(gap.before);
      const double nearer = at < gap.before ? std::min(end - gaps_.start(at), gaps_.start(at) - begin) : 0;
      weights_[g] = start == Start::kGap ? end - begin : nearer + 1e-3 * (end - begin);
    }
  }

  /// A walk around the iteration takes bytes away wherever there are too many.
  std::vector<std::int64_t> choose() const {
    std::vector<std::int64_t> parked(gaps_.size());
    const std::size_t count = gaps_.operations();
    std::vector<std::int64_t> away(count);
    const std::size_t first = gaps_.lowest();
    for (std::size_t step = 0; step < count; ++step) {
      const std::size_t t = (first + step) % count;
      std::int64_t excess = gaps_.excess(t) + margin_ - away[t];
      if (excess <= 0) continue;
      std::vector<std::pair<double, std::uint32_t>> heap;  // only a few of many will be taken
      for (const std::uint32_t g : gaps_.around(t)) {
        if (parked[g] < gaps_.bytes(g)) heap.emplace_back(worth(g, t), g);
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
        const std::int64_t whole = (std::min(excess, gaps_.bytes(g)) + chunk - 1) / chunk * chunk;
        const std::int64_t bytes = std::min(whole, gaps_.bytes(g) - parked[g]);
        parked[g] += bytes;
        excess -= bytes;
        for (std::uint32_t at = gaps_[g].after + 1; at < gaps_[g].before; ++at) away[at % count] += bytes;
      }
    }
    return parked;
  }

  /// What another plan parks already is worth little.
  void set_avoided() {
    avoided_.assign(gaps_.size(), 1.0);
    if (options_.avoid == nullptr) return;
    for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
      for (const PlanAction& action : options_.avoid->actions) {
        if (action.tensor == gaps_[g].tensor && action.leave_after == gaps_[g].after) avoided_[g] = 1e-3;
      }
    }
  }

  /// The weight; from the first start, times the time from operation t to the next use.
  double worth(std::uint32_t g, std::size_t t) const {
    if (!from_next_use_) return weights_[g] * avoided_[g];
    const std::size_t from = t > gaps_[g].after ? t : t + gaps_.operations();
    return weights_[g] * avoided_[g] * (gaps_.start(gaps_[g].before) - gaps_.start(from));
  }

  /// Changes the weights of a few gaps, mostly of such that have to do with an operation that stalled.
  void perturb() {
    double sum = 0;
    for (const double stall : stalls_) sum += stall;
    const std::size_t count = gaps_.operations();
    const int changes = 1 + static_cast<int>(random_() % 4);
    for (int i = 0; i < changes; ++i) {
      std::size_t at = random_() % count;
      if (sum > 0 && random_() % 4 != 0) {
        double draw = sum * (static_cast<double>(random_() % 1'000'000) * 1e-6);
        for (at = 0; at + 1 < count && draw >= stalls_[at]; ++at) draw -= stalls_[at];
      }
      if (gaps_.around(at).empty()) continue;
      const std::uint32_t g = gaps_.around(at)[random_() % gaps_.around(at).size()];
      weights_[g] *=
          std::exp((static_cast<double>(random_() % 2001) - 1000) * (random_() % 3 == 0 ? 6e-3 : 1e-3));
    }
  }

  const Workload& workload_;
  LookaheadOptions options_;
  Uses uses_;
  GapTable gaps_;
  std::mt19937 random_;
  std::vector<double> weights_;  ///< by gap
  std::vector<double> avoided_;  ///< by gap: factor of its worth
  bool from_next_use_ = true;
  std::int64_t margin_ = 0;  ///< bytes parked beyond need, so that transfers have time
  std::vector<std::int64_t> best_;
  std::optional<double> best_ns_;
  std::vector<double> best_weights_;
  bool best_from_next_use_ = true;
  std::int64_t best_margin_ = 0;
  std::vector<double> stalls_;
};

}  // namespace

Plan plan_lookahead(const Workload& workload, const LookaheadOptions& options) {
  return Lookahead(workload, options).search();
}

}  // namespace tferry::analyzer
