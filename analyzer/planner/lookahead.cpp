#include "analyzer/planner/lookahead.hpp"

#include "analyzer/planner/gap_queue.hpp"
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
    set_begins();
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
    if (options_.on_simulation) options_.on_simulation();
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

  /// A walk around the iteration takes bytes away wherever there are too many. It begins at the operation
  /// with the fewest; a gap around that one is met twice, at the walk's beginning and at its end.
  std::vector<std::int64_t> choose() const {
    std::vector<std::int64_t> parked(gaps_.size());
    const std::size_t count = gaps_.operations();
    const std::size_t first = gaps_.lowest();
    std::vector<std::int64_t> change(count + 1);  // of the bytes away, by step
    std::int64_t away = 0;
    GapQueue queue;
    for (std::size_t step = 0; step < count; ++step) {
      const std::size_t t = (first + step) % count;
      away += change[step];
      const double now = from_next_use_ ? gaps_.start(first + step) : 0;
      for (const std::uint32_t g : begins_[step]) {
        const double factor = weights_[g] * avoided_[g];
        queue.add(g, from_next_use_ ? factor : 1, from_next_use_ ? now + until_next_use(g, t) : factor,
                  walk(g).end_from(step));
      }
      std::int64_t excess = gaps_.excess(t) + margin_ - away;
      const std::int64_t chunk = options_.simulation.chunk_bytes;
      while (excess > 0) {
        const auto g =
            queue.best(step, now, [&](std::uint32_t gap) { return parked[gap] < gaps_.bytes(gap); });
        if (!g) break;
        const std::int64_t whole = (std::min(excess, gaps_.bytes(*g)) + chunk - 1) / chunk * chunk;
        const std::int64_t bytes = std::min(whole, gaps_.bytes(*g) - parked[*g]);
        parked[*g] += bytes;
        excess -= bytes;
        away += bytes;
        const Walk at = walk(*g);
        change[at.end_from(step)] -= bytes;
        if (at.wraps && step < at.end) {  // and from where it begins to the walk's end
          change[at.begin] += bytes;
          change[count] -= bytes;
        }
      }
    }
    return parked;
  }

  /// The steps of the walk at which a gap is there: [begin, end), or [0, end) and [begin, all).
  struct Walk {
    std::size_t begin = 0, end = 0, all = 0;
    bool wraps = false;
    std::size_t end_from(std::size_t step) const { return wraps && step >= begin ? all : end; }
  };
  Walk walk(std::uint32_t g) const {
    const std::size_t count = gaps_.operations();
    Walk at;
    at.all = count;
    at.begin = (gaps_[g].after + 1 + count - gaps_.lowest()) % count;
    at.end = at.begin + (gaps_[g].before - gaps_[g].after - 1);
    at.wraps = at.end > count;
    if (at.wraps) at.end -= count;
    return at;
  }
  void set_begins() {
    begins_.resize(gaps_.operations());
    for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
      begins_[walk(g).begin].push_back(g);
      if (walk(g).wraps) begins_[0].push_back(g);
    }
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

  /// Time from operation t to the next use.
  double until_next_use(std::uint32_t g, std::size_t t) const {
    const std::size_t from = t > gaps_[g].after ? t : t + gaps_.operations();
    return gaps_.start(gaps_[g].before) - gaps_.start(from);
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
      const std::vector<std::uint32_t> around = gaps_.around(at);
      if (around.empty()) continue;
      const std::uint32_t g = around[random_() % around.size()];
      weights_[g] *=
          std::exp((static_cast<double>(random_() % 2001) - 1000) * (random_() % 3 == 0 ? 6e-3 : 1e-3));
    }
  }

  const Workload& workload_;
  LookaheadOptions options_;
  Uses uses_;
  GapTable gaps_;
  std::mt19937 random_;
  std::vector<double> weights_;                     ///< by gap
  std::vector<double> avoided_;                     ///< by gap: factor of its worth
  std::vector<std::vector<std::uint32_t>> begins_;  ///< by step of the walk: gaps that are there from it on
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
