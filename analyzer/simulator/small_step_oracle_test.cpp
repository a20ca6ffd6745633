// The event-driven simulator against a second one written differently: it walks in small steps of time and
// keeps every megabyte of every tensor as a block of its own. Policy: on demand, least recently used.
#include "analyzer/simulator/policies.hpp"
#include "analyzer/simulator/simulator.hpp"
#include "analyzer/workload/random_workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>

namespace tferry::analyzer {
namespace {

constexpr std::int64_t kBlock = 1'000'000;

class SmallSteps {
 public:
  SmallSteps(const Workload& workload, const SimulationOptions& options, double step_ns)
      : workload_(workload),
        options_(options),
        step_(step_ns),
        chunk_(static_cast<int>(options.chunk_bytes / kBlock)),
        free_(static_cast<int>(workload.budget / kBlock)),
        operations_(static_cast<int>(workload.operations.size())) {
    for (const Tensor& tensor : workload.tensors) {
      Blocks blocks;
      blocks.held.assign(static_cast<std::size_t>(tensor.size / kBlock), false);
      blocks.filled = blocks.leaves = blocks.held;
      blocks.backed.assign(blocks.held.size(), true);
      blocks.alive = !tensor.persistent && tensor.death < tensor.birth;
      tensors_.push_back(blocks);
    }
    for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) recency_.push_back(t);
    for (int i = 0; i < operations_; ++i) touches_.push_back(find_touches(i));
  }

  /// Average of the last two iterations, in nanoseconds.
  double run() {
    const int last = operations_ * options_.iterations;
    while (static_cast<int>(starts_.size()) <= last) {
      act();
      advance();
    }
    const auto at = [&](int iteration) { return starts_[static_cast<std::size_t>(iteration * operations_)]; };
    return (at(options_.iterations) - at(options_.iterations - 2)) / 2;
  }

 private:
  struct Blocks {
    std::vector<bool> held, filled, leaves, backed;
    int pins = 0;
    bool wanted = true, alive = false;
  };
  struct Touch {
    int tensor;
    bool reads, writes;
  };
  struct Flight {
    int tensor = -1;
    std::vector<std::size_t> blocks;
    double left = 0;
    bool abandoned = false;
  };

  const Operation& operation(int position) const {
    return workload_.operations[static_cast<std::size_t>(position % operations_)];
  }
  Blocks& blocks(int tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  const Tensor& tensor(int t) const { return workload_.tensors[static_cast<std::size_t>(t)]; }

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

  const std::vector<Touch>& touches(int position) const {
    return touches_[static_cast<std::size_t>(position % operations_)];
  }

  std::vector<Touch> find_touches(int position) const {
    std::vector<Touch> all;
    for (const Access& access : operation(position).accesses) {
      const int t = static_cast<int>(access.tensor);
      auto found =
          std::find_if(all.begin(), all.end(), [&](const Touch& touch) { return touch.tensor == t; });
      if (found == all.end()) found = all.insert(all.end(), {t, false, false});
      const bool fresh = !tensor(t).persistent && first_use(t) == position;
      found->reads |= access.kind != AccessKind::kOverwrite && !fresh;
      found->writes |= access.kind != AccessKind::kRead || fresh;
    }
    return all;
  }

  static int count(const std::vector<bool>& flags) {
    return static_cast<int>(std::count(flags.begin(), flags.end(), true));
  }

  /// Everything that takes no time, until nothing more happens.
  void act() {
    for (bool again = true; again;) again = launch() || fetch() || park() || start();
  }

  bool launch() {
    if (launched_ >= running_ + static_cast<int>(options_.run_ahead) + (busy_ ? 1 : 0)) return false;
    if (!acquiring_) {
      for (const Touch& touch : touches(launched_)) {
        const bool fresh =
            !tensor(touch.tensor).persistent && first_use(touch.tensor) == launched_ % operations_;
        if (fresh && blocks(touch.tensor).alive) return false;
      }
      for (const Touch& touch : touches(launched_)) {
        ++blocks(touch.tensor).pins;
        parks_.remove_if([&](const auto& order) {
          if (order.first != touch.tensor) return false;
          for (const std::size_t i : order.second) blocks(touch.tensor).leaves[i] = false;
          return true;
        });
        if (!tensor(touch.tensor).persistent && first_use(touch.tensor) == launched_ % operations_) {
          blocks(touch.tensor).alive = true;
        }
        recency_.remove(touch.tensor);
        recency_.push_back(touch.tensor);
      }
      acquiring_ = true;
    }
    int lacking = 0;
    bool settled = true;
    for (const Touch& touch : touches(launched_)) {
      Blocks& b = blocks(touch.tensor);
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
      if (touch.reads && got && std::find(fetches_.begin(), fetches_.end(), touch.tensor) == fetches_.end()) {
        fetches_.push_back(touch.tensor);
      }
      lacking += static_cast<int>(b.held.size()) - count(b.held);
    }
    int leaving = out_.tensor < 0 ? 0 : static_cast<int>(out_.blocks.size());
    for (const auto& order : parks_) leaving += static_cast<int>(order.second.size());
    if (lacking > leaving) {
      int more = lacking - leaving;
      for (int p = running_; p < launched_; ++p) {
        for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
          if (!tensor(t).persistent && static_cast<int>(tensor(t).death) == p % operations_)
            more -= count(blocks(t).held);
        }
      }
      if (more > 0 && evict(more)) return true;
    }
    if (lacking > 0 || !settled || !fetches_.empty()) return false;
    acquiring_ = false;
    ++launched_;
    return true;
  }

  bool evict(int wanted) {
    const int before = free_;
    for (const int t : recency_) {
      Blocks& b = blocks(t);
      if (b.pins > 0 || b.held != b.filled) continue;
      while (wanted > 0) {
        std::vector<std::size_t> leaving;
        const bool none_leaves = count(b.leaves) == 0;
        for (std::size_t i = b.held.size();
             i-- > 0 && static_cast<int>(leaving.size()) < std::min(wanted, chunk_);) {
          if (b.held[i] && !b.leaves[i]) leaving.push_back(i);
        }
        if (leaving.empty()) break;
        wanted -= static_cast<int>(leaving.size());
        std::vector<std::size_t> dirty;
        for (const std::size_t i : leaving) {
          if (!b.wanted || (none_leaves && b.backed[i])) {
            b.held[i] = b.filled[i] = false;
            ++free_;
          } else {
            b.leaves[i] = true;
            dirty.push_back(i);
          }
        }
        if (!dirty.empty()) parks_.emplace_back(t, dirty);
      }
      if (wanted <= 0) break;
    }
    return free_ > before;
  }

  double in_link_bytes(std::size_t blocks) const {
    return static_cast<double>(blocks) * kBlock / workload_.link.reached;
  }

  bool fetch() {
    if (in_.tensor >= 0 || fetches_.empty()) return false;
    Blocks& b = blocks(fetches_.front());
    in_.blocks.clear();
    int waiting = 0;
    for (std::size_t i = 0; i < b.held.size(); ++i) {
      if (!b.held[i] || b.filled[i]) continue;
      ++waiting;
      if (static_cast<int>(in_.blocks.size()) < chunk_) in_.blocks.push_back(i);
    }
    const int t = fetches_.front();
    if (waiting == static_cast<int>(in_.blocks.size())) fetches_.pop_front();
    if (in_.blocks.empty()) return true;
    in_.tensor = t;
    in_.left = in_link_bytes(in_.blocks.size()) + options_.chunk_latency_ns * workload_.link.in;
    return true;
  }

  bool park() {
    if (out_.tensor >= 0 || parks_.empty()) return false;
    auto& [t, order] = parks_.front();
    const std::size_t size = std::min(order.size(), static_cast<std::size_t>(chunk_));
    out_ = {t, {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size)}, 0, false};
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size));
    if (order.empty()) parks_.pop_front();
    out_.left = in_link_bytes(size) + options_.chunk_latency_ns * workload_.link.out;
    return true;
  }

  bool start() {
    if (busy_ || running_ >= launched_) return false;
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
    return work_left_ <= 0 && finish();
  }

  bool finish() {
    busy_ = false;
    for (const Touch& touch : touches(running_)) {
      Blocks& b = blocks(touch.tensor);
      --b.pins;
      b.wanted = read_next(touch.tensor, running_);
    }
    for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
      if (tensor(t).persistent || static_cast<int>(tensor(t).death) != running_ % operations_) continue;
      Blocks& b = blocks(t);
      free_ += count(b.held);
      const std::vector<bool> none(b.held.size(), false);
      b.held = b.filled = b.leaves = b.backed = none;
      b.wanted = b.alive = false;
      if (out_.tensor == t) out_.abandoned = true;
      parks_.remove_if([&](const auto& order) { return order.first == t; });
    }
    ++running_;
    return true;
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

  void advance() {
    const bool both = in_.tensor >= 0 && out_.tensor >= 0;
    // A whole step, or to the nearest end if that comes before: the ends themselves are exact.
    const double in_rate = both ? workload_.link.duplex_in : workload_.link.in;
    const double out_rate = both ? workload_.link.duplex_out : workload_.link.out;
    double time = step_;
    if (busy_) time = std::min(time, work_left_);
    now_ += time;
    if (in_.tensor >= 0 && (in_.left -= in_rate * time) <= 0) {
      for (const std::size_t i : in_.blocks) blocks(in_.tensor).filled[i] = true;
      in_.tensor = -1;
    }
    if (out_.tensor >= 0 && (out_.left -= out_rate * time) <= 0) {
      Blocks& b = blocks(out_.tensor);
      for (const std::size_t i : out_.blocks) {
        if (out_.abandoned) break;
        b.leaves[i] = false;
        b.backed[i] = true;
        if (b.pins > 0) continue;
        b.held[i] = b.filled[i] = false;
        ++free_;
      }
      out_.tensor = -1;
    }
    if (busy_ && (work_left_ -= time) <= 0) finish();
  }

  const Workload& workload_;
  SimulationOptions options_;
  double step_;
  int chunk_;
  int free_;
  int operations_;
  std::vector<Blocks> tensors_;
  std::vector<std::vector<Touch>> touches_;  ///< by operation
  std::list<int> recency_;
  std::list<int> fetches_;
  std::list<std::pair<int, std::vector<std::size_t>>> parks_;
  Flight in_, out_;
  double now_ = 0, work_left_ = 0;
  int launched_ = 0, running_ = 0;
  bool busy_ = false, acquiring_ = false;
  std::vector<double> starts_;
};

TEST(SmallStepOracle, AgreesOnTwoHundredRandomWorkloads) {
  int far_off = 0;
  double worst = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Workload workload = random_workload(random(), 2 + random() % 8, 1 + random() % 10);
    workload.budget = std::max(kBlock, workload.budget / kBlock * kBlock);
    if (seed % 4 == 0) workload.link.reached = 0.75;  // copies in two parts of which one is late
    const SimulationOptions options{.chunk_bytes = kBlock * static_cast<std::int64_t>(4 + random() % 30),
                                    .chunk_latency_ns = 0,
                                    .run_ahead = 1 + random() % 3,
                                    .iterations = 4};
    OnDemandPolicy policy(workload);
    const double fast = simulate(workload, policy, options).time_ns;
    const double slow = SmallSteps(workload, options, 400).run();
    const double difference = std::abs(fast - slow) / std::max(slow, 1.0);
    worst = std::max(worst, difference);
    if (difference > 0.005)
      ++far_off, RecordProperty("seed" + std::to_string(seed), std::to_string(difference));
  }
  EXPECT_EQ(far_off, 0) << "worst: " << worst;
}

}  // namespace
}  // namespace tferry::analyzer
