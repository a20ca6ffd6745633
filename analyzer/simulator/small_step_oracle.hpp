#pragma once

// For tests: a second simulator of one or several ranks, written differently from the event-driven one and
// sharing no code with it. It walks in small steps of time, keeps every megabyte of every tensor as a block
// of its own, looks for the next use by looking, and knows the policies from their description only.
#include "analyzer/planner/plan.hpp"
#include "analyzer/simulator/shared_link.hpp"
#include "analyzer/workload/workload.hpp"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tferry::analyzer::small_steps {

inline constexpr std::int64_t kBlock = 1'000'000;

enum class Rule : std::uint8_t { kOnDemand, kLms, kLmsEarly, kPlan };

/// Sizes, budget, chunk and what a plan parks are whole blocks; under kLms a sixteenth of the budget, too.
struct RankCase {
  const Workload* workload = nullptr;
  Rule rule = Rule::kOnDemand;
  const Plan* plan = nullptr;  ///< of kPlan
  int run_ahead = 16;          ///< as the policy has it
  std::size_t link = 0;
};

struct Case {
  std::vector<RankCase> ranks;
  std::vector<LinkRates> links;
  Sharing sharing = Sharing::kFair;
  std::int64_t chunk_bytes = kBlock;
  double latency_ns = 0;
  int iterations_per_round = 1;
  int rounds = 4;
  int measured = 2;  ///< iterations, the last ones
  double skew = 0;
  double step_ns = 100;
};

/// A transfer that is under way, or waits for its turn.
struct Flight {
  int tensor = -1;  ///< none
  std::vector<std::size_t> blocks;
  double left = 0;  ///< bytes
  double needed_at = 0;
  bool turn = false;
  bool abandoned = false;  ///< its tensor is gone
  bool there() const { return tensor >= 0; }
};

class Rank {
 public:
  Rank(const RankCase& rank, const Case& all, double begins_ns)
      : workload_(*rank.workload),
        rule_(rank.rule),
        plan_(rank.plan),
        run_ahead_(rank.rule == Rule::kPlan ? 1 : rank.run_ahead),
        latency_ns_(all.latency_ns),
        chunk_(static_cast<int>(all.chunk_bytes / kBlock)),
        free_(static_cast<int>(workload_.budget / kBlock)),
        operations_(static_cast<int>(workload_.operations.size())),
        idle_left_(begins_ns) {
    int largest = 0;
    for (const Tensor& tensor : workload_.tensors) {
      Blocks blocks;
      blocks.held.assign(static_cast<std::size_t>(tensor.size / kBlock), false);
      blocks.filled = blocks.leaves = blocks.held;
      blocks.backed.assign(blocks.held.size(), true);
      blocks.alive = !tensor.persistent && tensor.death < tensor.birth;
      tensors_.push_back(blocks);
      largest = std::max(largest, static_cast<int>(blocks.held.size()));
    }
    headroom_ = std::min(largest, free_ / 16);
    last_launch_.assign(tensors_.size(), 0);
    for (int t = 0; t < tensors(); ++t) recency_.push_back(t);
    for (int i = 0; i < operations_; ++i) touches_.push_back(find_touches(i));
  }

  int position() const { return running_; }
  int iterations() const { return running_ / operations_; }
  int operations() const { return operations_; }
  const LinkRates& link() const { return workload_.link; }
  const std::vector<double>& starts() const { return starts_; }
  Flight& flight(bool in) { return in ? in_ : out_; }

  /// Everything that takes no time, until nothing more happens. Operations from `limit` on wait. False:
  /// nothing can have changed since the last time.
  bool act(double now, int limit) {
    if (!changed_ && limit == limit_) return false;
    now_ = now;
    limit_ = limit;
    changed_ = false;
    for (bool again = true; again;) again = launch() || fetch() || park() || start();
    return true;
  }

  /// Until an operation or an idle time ends, at most `most`.
  double nearest(double most) const {
    if (busy_) most = std::min(most, work_left_);
    return idle_left_ > 0 ? std::min(most, idle_left_) : most;
  }

  void pass(double time, double in_rate, double out_rate) {
    now_ += time;
    if (idle_left_ > 0 && (idle_left_ -= time) <= 0) idle_left_ = 0, changed_ = true;
    if (in_.there() && in_.turn && (in_.left -= in_rate * time) <= 0) arrive();
    if (out_.there() && out_.turn && (out_.left -= out_rate * time) <= 0) depart();
    if (busy_ && (work_left_ -= time) <= 0) finish();
  }

 private:
  double in_link_bytes(std::size_t blocks) const {
    return static_cast<double>(blocks) * kBlock / workload_.link.reached;
  }
  struct Blocks {
    std::vector<bool> held, filled, leaves, backed;
    int pins = 0;
    bool wanted = true, alive = false;
  };
  struct Touch {
    int tensor;
    bool reads, writes;
  };
  struct Wish {
    int tensor;
    int blocks;
    int due;
  };
  static constexpr int kRecent = 128;  // operations: lms leaves alone what was launched since

  bool patient() const { return rule_ == Rule::kPlan; }
  int tensors() const { return static_cast<int>(tensors_.size()); }
  Blocks& blocks(int t) { return tensors_[static_cast<std::size_t>(t)]; }
  const Tensor& tensor(int t) const { return workload_.tensors[static_cast<std::size_t>(t)]; }
  const Operation& operation(int position) const {
    return workload_.operations[static_cast<std::size_t>(position % operations_)];
  }
  const std::vector<Touch>& touches(int position) const {
    return touches_[static_cast<std::size_t>(position % operations_)];
  }
  static int count(const std::vector<bool>& flags) {
    return static_cast<int>(std::count(flags.begin(), flags.end(), true));
  }

  /// The operation in which a tensor that is not persistent is used first.
  int first_use(int t) const {
    for (int step = 0; step < operations_; ++step) {
      const int at = (static_cast<int>(tensor(t).birth) + step) % operations_;
      for (const Access& access : workload_.operations[static_cast<std::size_t>(at)].accesses) {
        if (static_cast<int>(access.tensor) == t) return at;
      }
    }
    return -1;
  }
  bool fresh(int t, int position) const {
    return !tensor(t).persistent && first_use(t) == position % operations_;
  }

  std::vector<Touch> find_touches(int position) const {
    std::vector<Touch> all;
    for (const Access& access : operation(position).accesses) {
      const int t = static_cast<int>(access.tensor);
      auto found =
          std::find_if(all.begin(), all.end(), [&](const Touch& touch) { return touch.tensor == t; });
      if (found == all.end()) found = all.insert(all.end(), {t, false, false});
      found->reads |= access.kind != AccessKind::kOverwrite && !fresh(t, position);
      found->writes |= access.kind != AccessKind::kRead || fresh(t, position);
    }
    return all;
  }

  /// Whether the next use of a tensor after this position finds it alive and reads it, or there is none
  /// before its death and it is kept till then.
  bool read_next(int t, int position) const {
    const int death =
        position + (static_cast<int>(tensor(t).death) - position % operations_ + operations_) % operations_;
    for (int p = position + 1; p <= position + operations_; ++p) {
      if (!tensor(t).persistent && p > death) return tensor(t).kept;
      for (const Touch& touch : touches(p)) {
        if (touch.tensor == t) return touch.reads;
      }
    }
    return false;
  }

  /// Operations until the next one that uses it, this one included.
  int distance(int t, int position) const {
    for (int p = position; p < position + operations_; ++p) {
      for (const Touch& touch : touches(p)) {
        if (touch.tensor == t) return p - position;
      }
    }
    return operations_;
  }

  /// From now until a position, if nothing ever waited.
  double time_until(int position) const {
    double time = 0;
    for (int p = running_; p < position; ++p)
      time += static_cast<double>(operation(p).duration_ns + operation(p).gap_ns);
    return time;
  }

  int leaving() const {
    int all = out_.there() ? static_cast<int>(out_.blocks.size()) : 0;
    for (const auto& order : parks_) all += static_cast<int>(order.second.size());
    return all;
  }
  int evictable(int t) {
    const Blocks& b = blocks(t);
    return b.pins == 0 && b.held == b.filled ? count(b.filled) - count(b.leaves) : 0;
  }

  bool launch() {
    if (launched_ >= running_ + run_ahead_ + (busy_ ? 1 : 0)) return false;
    if (!acquiring_ && !begin_acquiring()) return false;
    int lacking = 0;
    bool settled = true;
    const bool is_next = running_ == launched_ && !busy_;
    for (const Touch& touch : touches(launched_)) {
      Blocks& b = blocks(touch.tensor);
      if (patient() && !touch.reads && !is_next) {
        settled = false;
        continue;
      }
      bool got = false;
      for (std::size_t i = 0; i < b.held.size(); ++i) {
        if (b.held[i] || free_ == 0) continue;
        b.held[i] = got = true;
        --free_;
      }
      if (!touch.reads && b.pins == 1) {
        if (in_.tensor == touch.tensor) {
          settled = false;
        } else {
          b.filled = b.held;
          b.backed.assign(b.backed.size(), false);
        }
      }
      if (touch.reads && got && std::find(fetches_.begin(), fetches_.end(), touch.tensor) == fetches_.end())
        fetches_.push_back(touch.tensor);
      lacking += static_cast<int>(b.held.size()) - count(b.held);
    }
    lacking_ = lacking;
    const bool can_wait = patient() && (leaving() > 0 || running_ < launched_);
    if (lacking > leaving() && !can_wait) {
      int more = lacking - leaving();
      for (int p = running_; p < launched_; ++p) {
        for (int t = 0; t < tensors(); ++t) {
          if (dies(t, p)) more -= count(blocks(t).held);
        }
      }
      if (more > 0 && make_room(more)) return true;
    }
    if (lacking > 0 || !settled || !fetches_.empty()) return false;
    acquiring_ = false;
    ++launched_;
    return true;
  }

  bool dies(int t, int position) const {
    return !tensor(t).persistent && static_cast<int>(tensor(t).death) == position % operations_;
  }

  bool begin_acquiring() {
    for (const Touch& touch : touches(launched_)) {
      if (fresh(touch.tensor, launched_) && blocks(touch.tensor).alive) return false;
    }
    for (const Touch& touch : touches(launched_)) {
      const int t = touch.tensor;
      ++blocks(t).pins;
      forget_parks(t, true);
      if (fresh(t, launched_)) blocks(t).alive = true;
      recency_.remove(t);
      recency_.push_back(t);
      last_launch_[static_cast<std::size_t>(t)] = launched_;
      auto& [most, now] = reclaimed_[{launched_ % operations_, t}];
      most = std::max(most, now);
      now = 0;
    }
    return acquiring_ = true;
  }

  void forget_parks(int t, bool stays) {
    parks_.remove_if([&](const auto& order) {
      if (order.first != t) return false;
      if (stays) {
        for (const std::size_t i : order.second) blocks(t).leaves[i] = false;
      }
      return true;
    });
  }

  std::optional<int> victim() {
    std::optional<int> furthest;
    for (const int t : recency_) {
      if (evictable(t) > 0 && rule_ != Rule::kPlan) return t;
    }
    for (int t = 0; rule_ == Rule::kPlan && t < tensors(); ++t) {
      if (evictable(t) == 0) continue;
      if (!furthest || distance(t, launched_) > distance(*furthest, launched_)) furthest = t;
    }
    return furthest;
  }

  bool make_room(int wanted) {
    const int before = free_;
    while (wanted > 0) {
      const std::optional<int> t = victim();
      if (!t) break;
      const int taken = std::min({wanted, chunk_, evictable(*t)});
      swapping_ = true;
      reclaimed_[{last_launch_[static_cast<std::size_t>(*t)] % operations_, *t}].second += taken;
      page_out(*t, taken);
      wanted -= taken;
    }
    return free_ > before;
  }

  /// From the end of what is there; at once what host memory has or nobody wants.
  void page_out(int t, int wanted) {
    Blocks& b = blocks(t);
    wanted = std::min(wanted, evictable(t));
    const bool none_leaves = count(b.leaves) == 0;
    std::vector<std::size_t> dirty;
    for (std::size_t i = b.held.size(); i-- > 0 && wanted > 0;) {
      if (!b.held[i] || b.leaves[i]) continue;
      --wanted;
      if (!b.wanted || (none_leaves && dirty.empty() && b.backed[i])) {
        b.held[i] = b.filled[i] = false;
        ++free_;
      } else {
        b.leaves[i] = true;
        dirty.push_back(i);
      }
    }
    if (!dirty.empty()) parks_.emplace_back(t, dirty);
  }

  bool fetch() {
    if (in_.there()) return false;
    while (!fetches_.empty()) {
      const int t = fetches_.front();
      const Blocks& b = blocks(t);
      std::vector<std::size_t> coming;
      int waiting = 0;
      for (std::size_t i = 0; i < b.held.size(); ++i) {
        if (!b.held[i] || b.filled[i]) continue;
        if (waiting++ < chunk_) coming.push_back(i);
      }
      if (waiting <= chunk_) fetches_.pop_front();
      if (waiting > 0) return fly_in(t, coming, launched_);
    }
    return !(acquiring_ && lacking_ > 0) && prefetch();
  }

  bool prefetch() {
    while (!wishes_.empty()) {
      Wish& wish = wishes_.front();
      Blocks& b = blocks(wish.tensor);
      const int missing = static_cast<int>(b.held.size()) - count(b.held);
      if (wish.due < launched_ || wish.blocks <= 0 || missing == 0) {
        wishes_.pop_front();
        continue;
      }
      const int size = std::min({chunk_, wish.blocks, missing});
      if (count(b.leaves) > 0 || free_ < size) return false;
      std::vector<std::size_t> coming;
      for (std::size_t i = 0; static_cast<int>(coming.size()) < size; ++i) {
        if (!b.held[i]) coming.push_back(i);
      }
      for (const std::size_t i : coming) b.held[i] = true;
      free_ -= size;
      wish.blocks -= size;
      return fly_in(wish.tensor, coming, wish.due);
    }
    return false;
  }

  bool fly_in(int t, const std::vector<std::size_t>& coming, int due) {
    const double bytes = in_link_bytes(coming.size()) + latency_ns_ * workload_.link.in;
    in_ = {t, coming, bytes, now_ + time_until(due), false, false};
    return true;
  }

  bool park() {
    if (out_.there() || parks_.empty()) return false;
    auto& [t, order] = parks_.front();
    const auto size = static_cast<std::ptrdiff_t>(std::min(order.size(), static_cast<std::size_t>(chunk_)));
    const double bytes = in_link_bytes(static_cast<std::size_t>(size)) + latency_ns_ * workload_.link.out;
    out_ = {t, {order.begin(), order.begin() + size}, bytes, now_ + time_until(launched_), false, false};
    order.erase(order.begin(), order.begin() + size);
    if (order.empty()) parks_.pop_front();
    return true;
  }

  bool start() {
    if (busy_ || running_ >= launched_ || idle_left_ > 0 || running_ >= limit_) return false;
    for (const Touch& touch : touches(running_)) {
      if (count(blocks(touch.tensor).filled) < static_cast<int>(blocks(touch.tensor).held.size()))
        return false;
      if (touch.writes && out_.tensor == touch.tensor) return false;
    }
    for (const Touch& touch : touches(running_)) {
      if (touch.writes) blocks(touch.tensor).backed.assign(blocks(touch.tensor).backed.size(), false);
    }
    busy_ = true;
    work_left_ = static_cast<double>(operation(running_).duration_ns);
    starts_.push_back(now_);
    return true;
  }

  void finish() {
    busy_ = false;
    changed_ = true;
    for (const Touch& touch : touches(running_)) {
      --blocks(touch.tensor).pins;
      blocks(touch.tensor).wanted = read_next(touch.tensor, running_);
    }
    for (int t = 0; t < tensors(); ++t) {
      if (!dies(t, running_)) continue;
      Blocks& b = blocks(t);
      free_ += count(b.held);
      const std::vector<bool> none(b.held.size(), false);
      b.held = b.filled = b.leaves = b.backed = none;
      b.wanted = b.alive = false;
      if (out_.tensor == t) out_.abandoned = true;
      forget_parks(t, false);
    }
    if (rule_ == Rule::kLms && swapping_) keep_headroom();
    if (rule_ == Rule::kLmsEarly) {
      for (const Touch& touch : touches(running_))
        page_out(touch.tensor, reclaimed_[{running_ % operations_, touch.tensor}].first);
    }
    if (rule_ == Rule::kPlan) follow_plan();
    ++running_;
    idle_left_ = static_cast<double>(operation(running_).gap_ns);
  }

  void keep_headroom() {
    int coming = leaving();
    if (out_.there() && out_.abandoned) coming -= static_cast<int>(out_.blocks.size());
    while (free_ + coming < headroom_) {
      const std::optional<int> t = victim();
      if (!t || last_launch_[static_cast<std::size_t>(*t)] + kRecent >= running_) return;
      const int taken = std::min(headroom_ - free_ - coming, evictable(*t)), before = free_;
      page_out(*t, taken);
      coming += taken - (free_ - before);
    }
  }

  void follow_plan() {
    const int at = running_ % operations_;
    for (const Touch& touch : touches(running_)) {
      if (!blocks(touch.tensor).wanted) page_out(touch.tensor, count(blocks(touch.tensor).filled));
    }
    for (const PlanAction& action : plan_->actions) {
      if (static_cast<int>(action.leave_after) == at)
        page_out(static_cast<int>(action.tensor), static_cast<int>(action.bytes / kBlock));
    }
    for (const PlanAction& action : plan_->actions) {
      const int from = static_cast<int>(action.return_from), by = static_cast<int>(action.needed_by);
      if (!action.returns || from % operations_ != (at + 1) % operations_) continue;
      const Wish wish{static_cast<int>(action.tensor), static_cast<int>(action.bytes / kBlock),
                      running_ + 1 + by - from};
      auto behind = wishes_.begin();
      while (behind != wishes_.end() && behind->due <= wish.due) ++behind;
      wishes_.insert(behind, wish);
    }
  }

  void arrive() {
    for (const std::size_t i : in_.blocks) blocks(in_.tensor).filled[i] = true;
    in_ = {};
    changed_ = true;
  }

  void depart() {
    Blocks& b = blocks(out_.tensor);
    for (const std::size_t i : out_.blocks) {
      if (out_.abandoned) break;
      b.leaves[i] = false;
      b.backed[i] = true;
      if (b.pins > 0) continue;
      b.held[i] = b.filled[i] = false;
      ++free_;
    }
    out_ = {};
    changed_ = true;
  }

  const Workload& workload_;
  Rule rule_;
  const Plan* plan_;
  int run_ahead_;
  double latency_ns_;
  int chunk_, free_, operations_;
  int headroom_ = 0;
  std::vector<Blocks> tensors_;
  std::vector<std::vector<Touch>> touches_;  ///< by operation
  std::list<int> recency_;
  std::vector<int> last_launch_;  ///< by tensor: position
  /// By operation and tensor: blocks reclaimed after that use, the most of an iteration and in this one.
  std::map<std::pair<int, int>, std::pair<int, int>> reclaimed_;
  std::list<int> fetches_;
  std::list<Wish> wishes_;
  std::list<std::pair<int, std::vector<std::size_t>>> parks_;
  Flight in_, out_;
  double now_ = 0, work_left_ = 0, idle_left_ = 0;
  int launched_ = 0, running_ = 0, limit_ = 0, lacking_ = 0;
  bool busy_ = false, acquiring_ = false, swapping_ = false, changed_ = true;
  std::vector<double> starts_;
};

/// All ranks, and the links between them and host memory.
class Job {
 public:
  explicit Job(const Case& all) : case_(all) {
    for (std::size_t r = 0; r < all.ranks.size(); ++r) {
      double compute = 0;
      for (const Operation& operation : all.ranks[r].workload->operations)
        compute += static_cast<double>(operation.duration_ns);
      ranks_.push_back(
          std::make_unique<Rank>(all.ranks[r], all, all.skew * static_cast<double>(r) * compute));
    }
  }

  /// Mean time of a measured iteration of the slowest rank.
  double run() {
    std::vector<double> rates[2];
    while (!done()) {
      const int round = rounds_ended();
      bool changed = false;
      for (const auto& rank : ranks_)
        changed |= rank->act(now_, (round + 1) * case_.iterations_per_round * rank->operations());
      if (changed) {
        for (const bool in : {true, false}) give_turns(in, round);
        for (const bool in : {true, false}) rates[in] = rates_of(in);
      }
      double time = case_.step_ns;
      for (const auto& rank : ranks_) time = rank->nearest(time);
      now_ += time;
      for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r]->pass(time, rates[true][r], rates[false][r]);
    }
    double slowest = 0;
    for (const auto& rank : ranks_) {
      const auto start = [&](int iteration) {
        return rank->starts()[static_cast<std::size_t>(iteration * rank->operations())];
      };
      slowest = std::max(slowest, (start(iterations()) - start(iterations() - case_.measured)) /
                                      static_cast<double>(case_.measured));
    }
    return slowest;
  }

 private:
  int iterations() const { return case_.rounds * case_.iterations_per_round; }
  bool done() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [this](const auto& rank) {
      return static_cast<int>(rank->starts().size()) > iterations() * rank->operations();
    });
  }
  int rounds_ended() const {
    int least = ranks_.front()->iterations();
    for (const auto& rank : ranks_) least = std::min(least, rank->iterations());
    return least / case_.iterations_per_round;
  }

  std::vector<std::size_t> on_link(std::size_t link) const {
    std::vector<std::size_t> found;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (case_.ranks[r].link == link) found.push_back(r);
    }
    return found;
  }

  void give_turns(bool in, int round) {
    for (std::size_t link = 0; link < case_.links.size(); ++link) {
      const std::vector<std::size_t> together = on_link(link);
      std::optional<std::pair<double, std::size_t>> first;  // smaller is better; rank
      bool taken = false;
      for (std::size_t place = 0; place < together.size(); ++place) {
        Flight& flight = ranks_[together[place]]->flight(in);
        if (!flight.there()) continue;
        if (case_.sharing == Sharing::kFair) flight.turn = true;
        taken = taken || flight.turn;
        double order = static_cast<double>(place);
        if (case_.sharing == Sharing::kDeadline) order = flight.needed_at;
        if (case_.sharing == Sharing::kBehind) order = ranks_[together[place]]->iterations();
        if (case_.sharing == Sharing::kRotating)
          order = static_cast<double>((place + static_cast<std::size_t>(round)) % together.size());
        if (!first || order < first->first) first = {order, together[place]};
      }
      if (!taken && first) ranks_[first->second]->flight(in).turn = true;
    }
  }

  bool moves(std::size_t rank, bool in) const {
    const Flight& flight = ranks_[rank]->flight(in);
    return flight.there() && flight.turn;
  }

  /// Equal parts for all that move; who cannot use a part leaves the rest to the others.
  std::vector<double> rates_of(bool in) const {
    std::vector<double> rates(ranks_.size());
    for (std::size_t link = 0; link < case_.links.size(); ++link) {
      std::vector<std::size_t> open;
      bool both = false;
      for (const std::size_t r : on_link(link)) {
        both = both || moves(r, !in);
        if (moves(r, in)) open.push_back(r);
      }
      double capacity = rate(case_.links[link], in, both);
      for (bool again = true; again && !open.empty();) {
        const double part = capacity / static_cast<double>(open.size());
        again = false;
        for (std::size_t k = 0; k < open.size() && !again; ++k) {
          const double own = rate(ranks_[open[k]]->link(), in, moves(open[k], !in));
          if (own >= part) continue;
          rates[open[k]] = own;
          capacity -= own;
          open.erase(open.begin() + static_cast<std::ptrdiff_t>(k));
          again = true;
        }
        if (again) continue;
        for (const std::size_t r : open) rates[r] = part;
      }
    }
    return rates;
  }
  static double rate(const LinkRates& link, bool in, bool both) {
    return in ? (both ? link.duplex_in : link.in) : (both ? link.duplex_out : link.out);
  }

  Case case_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  double now_ = 0;
};

}  // namespace tferry::analyzer::small_steps
