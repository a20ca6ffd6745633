#include "analyzer/placement/queue_simulation.hpp"

#include "analyzer/simulator/link.hpp"

#include <queue>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tferry::analyzer {
namespace {

constexpr std::int64_t kIterations =
    5;  // from a start with everything in place; the last but one is measured
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A transfer of one iteration.
struct Instance {
  std::int64_t iteration = 0;
  std::uint32_t transfer = 0;
};

/// A return that has not begun.
struct Waiting {
  Instance instance;
  std::size_t met = 0;  ///< so many of its predecessors are known to be over: what is over stays over
};

class Queues {
 public:
  Queues(const Workload& workload, const Schedule& schedule, const SimulationOptions& options,
         bool by_deadline)
      : workload_(workload),
        schedule_(schedule),
        by_deadline_(by_deadline),
        count_(static_cast<std::int64_t>(workload.operations.size())),
        link_(workload.link, options.chunk_latency_ns),
        needed_(workload.operations.size()),
        first_uses_(workload.operations.size()),
        leave_done_(schedule.leaves.size() * kIterations),
        return_done_(schedule.returns.size() * kIterations) {
    for (std::uint32_t r = 0; r < schedule.returns.size(); ++r)
      needed_[schedule.returns[r].needed % workload.operations.size()].push_back(r);
    for (std::uint32_t f = 0; f < schedule.first_uses.size(); ++f)
      first_uses_[schedule.first_uses[f].operation % workload.operations.size()].push_back(f);
    if (by_deadline_) line_up_by_deadline();
  }

  void run() {
    while (operation_ < kIterations * count_) {
      while (start_operation() || start_out() || start_in()) {
      }
      if (operation_ < kIterations * count_) step();
    }
  }

  QueueSimulation result() const {
    QueueSimulation result;
    const std::int64_t first = (kIterations - 2) * count_;
    const double begin = starts_[static_cast<std::size_t>(first)];
    result.time_ns = starts_[static_cast<std::size_t>(first + count_)] - begin;
    for (std::int64_t i = first; i < first + count_; ++i) {
      const auto at = static_cast<std::size_t>(i);
      result.starts_ns.push_back(starts_[at] - begin);
      result.ends_ns.push_back(ends_[at] - begin);
      result.stalls_ns.push_back(stalls_[at]);
    }
    result.late_returns = late_returns_;
    return result;
  }

  /// Copies in, in the order in which they began.
  const std::vector<Instance>& begun() const { return begun_; }

 private:
  void line_up_by_deadline() {
    for (std::int64_t i = 0; i < kIterations; ++i) {
      for (std::uint32_t r = 0; r < schedule_.returns.size(); ++r) waiting_.push_back({{i, r}});
    }
    std::stable_sort(waiting_.begin(), waiting_.end(), [this](const Waiting& a, const Waiting& b) {
      return deadline(a.instance) < deadline(b.instance);
    });
    held_by_operation_.resize(static_cast<std::size_t>(kIterations * count_));
    held_by_leave_.resize(leave_done_.size());
    for (std::uint32_t w = 0; w < waiting_.size(); ++w) hold_or_release(w);
  }

  /// Leaves a return with the first of its predecessors that is not over, or lets it go.
  void hold_or_release(std::uint32_t w) {
    Waiting& waiting = waiting_[w];
    const std::vector<Predecessor>& after = schedule_.returns[waiting.instance.transfer].after;
    for (; waiting.met < after.size(); ++waiting.met) {
      const Predecessor& predecessor = after[waiting.met];
      if (over(predecessor, waiting.instance.iteration)) continue;
      const std::int64_t iteration = waiting.instance.iteration + predecessor.shift;
      if (iteration >= kIterations) return;  // beyond what is simulated
      const bool operation = predecessor.kind == Predecessor::Kind::kOperation;
      (operation
           ? held_by_operation_
           : held_by_leave_)[place(operation ? static_cast<std::size_t>(count_) : schedule_.leaves.size(),
                                   iteration, predecessor.index)]
          .push_back(w);
      return;
    }
    released_.push(w);
  }

  void release(std::vector<std::uint32_t>& held) {
    for (const std::uint32_t w : std::exchange(held, {})) hold_or_release(w);
  }

  std::int64_t deadline(const Instance& instance) const {
    return instance.iteration * count_ + schedule_.returns[instance.transfer].needed;
  }

  static std::size_t place(std::size_t transfers, std::int64_t iteration, std::uint32_t transfer) {
    return static_cast<std::size_t>(iteration) * transfers + transfer;
  }

  bool over(const Predecessor& predecessor, std::int64_t iteration) const {
    iteration += predecessor.shift;
    if (iteration < 0) return true;
    if (predecessor.kind == Predecessor::Kind::kOperation)
      return operation_ > iteration * count_ + predecessor.index;
    return iteration < kIterations &&
           leave_done_[place(schedule_.leaves.size(), iteration, predecessor.index)];
  }

  bool over(const std::vector<Predecessor>& predecessors, std::int64_t iteration) const {
    return std::all_of(predecessors.begin(), predecessors.end(),
                       [&](const Predecessor& p) { return over(p, iteration); });
  }

  bool start_operation() {
    if (busy_ || operation_ >= kIterations * count_ || now_ < ready_) return false;
    const auto at = static_cast<std::size_t>(operation_ % count_);
    const std::int64_t iteration = operation_ / count_;
    bool all = true;
    for (const std::uint32_t r : needed_[at]) {
      const std::int64_t left_in = iteration - schedule_.returns[r].needed / count_;
      if (left_in < 0 || return_done_[place(schedule_.returns.size(), left_in, r)]) continue;
      all = false;
      if (iteration == kIterations - 2) late_.push_back(r);
    }
    for (const std::uint32_t f : first_uses_[at]) {
      const FirstUse& use = schedule_.first_uses[f];
      all = all && over(use.after, iteration - use.operation / count_);
    }
    if (!all) return false;
    count_late();
    busy_ = true;
    starts_.push_back(now_);
    stalls_.push_back(now_ - ready_);
    ends_.push_back(now_ + static_cast<double>(workload_.operations[at].duration_ns));
    return true;
  }

  /// An operation that waits is looked at again and again.
  void count_late() {
    std::sort(late_.begin(), late_.end());
    late_returns_ += static_cast<std::uint64_t>(std::unique(late_.begin(), late_.end()) - late_.begin());
    late_.clear();
  }

  bool start_out() {
    if (link_.busy(Link::kOut) || schedule_.leaves.empty() || leaving_.iteration >= kIterations) return false;
    const LeaveTransfer& leave = schedule_.leaves[leaving_.transfer];
    if (operation_ <= leaving_.iteration * count_ + leave.after) return false;
    link_.start(Link::kOut, static_cast<double>(leave.bytes));
    return true;
  }

  bool start_in() {
    if (link_.busy(Link::kIn)) return false;
    const std::optional<Instance> next = by_deadline_ ? most_urgent() : next_submitted();
    if (!next) return false;
    returning_ = *next;
    begun_.push_back(returning_);
    link_.start(Link::kIn, static_cast<double>(schedule_.returns[returning_.transfer].bytes));
    return true;
  }

  std::optional<Instance> most_urgent() {
    if (released_.empty()) return std::nullopt;
    const Instance found = waiting_[released_.top()].instance;
    if (deadline(found) > operation_ + 2 * count_) return std::nullopt;
    released_.pop();
    return found;
  }

  std::optional<Instance> next_submitted() {
    while (submitted_.iteration < kIterations && !schedule_.submissions.empty()) {
      const Submission& submission = schedule_.submissions[submitted_.transfer];
      const Instance next{submitted_.iteration - submission.shift, submission.transfer};
      if (next.iteration >= 0 && !over(schedule_.returns[next.transfer].after, next.iteration))
        return std::nullopt;
      if (++submitted_.transfer == schedule_.submissions.size()) submitted_ = {submitted_.iteration + 1, 0};
      if (next.iteration >= 0) return next;
    }
    return std::nullopt;
  }

  void step() {
    const double gap = ready_ > now_ ? ready_ - now_ : kNever;
    const double compute = busy_ ? ends_.back() - now_ : kNever;
    const double time = std::min({gap, compute, link_.time_left(Link::kIn), link_.time_left(Link::kOut)});
    if (time == kNever) throw std::logic_error("a placed plan waits for itself");
    bool ended[2];
    link_.advance(time, ended);
    now_ = time == gap ? ready_ : time == compute ? ends_.back() : now_ + time;
    if (ended[Link::kIn])
      return_done_[place(schedule_.returns.size(), returning_.iteration, returning_.transfer)] = true;
    if (ended[Link::kOut]) {
      const std::size_t leave = place(schedule_.leaves.size(), leaving_.iteration, leaving_.transfer);
      leave_done_[leave] = true;
      if (by_deadline_) release(held_by_leave_[leave]);
      if (++leaving_.transfer == schedule_.leaves.size()) leaving_ = {leaving_.iteration + 1, 0};
    }
    if (busy_ && ends_.back() <= now_) {
      busy_ = false;
      ++operation_;
      if (by_deadline_) release(held_by_operation_[static_cast<std::size_t>(operation_ - 1)]);
      ready_ = now_ + static_cast<double>(
                          workload_.operations[static_cast<std::size_t>(operation_ % count_)].gap_ns);
    }
  }

  const Workload& workload_;
  const Schedule& schedule_;
  const bool by_deadline_;
  const std::int64_t count_;
  Link link_;
  std::vector<std::vector<std::uint32_t>> needed_;      ///< by operation: returns that it waits for
  std::vector<std::vector<std::uint32_t>> first_uses_;  ///< by operation
  std::vector<bool> leave_done_, return_done_;          ///< by iteration and transfer
  std::vector<std::vector<std::uint32_t>> held_by_operation_, held_by_leave_;  ///< by iteration and number
  /// Returns that only the link holds up, nearest deadline first: indices into waiting_.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> released_;
  std::vector<Waiting> waiting_;  ///< returns by deadline, where that decides
  std::vector<Instance> begun_;
  Instance submitted_;  ///< the next submission: its iteration and its place in the list
  Instance leaving_;    ///< the copy out that is being made or is next
  Instance returning_;
  std::int64_t operation_ = 0;  ///< the one that runs or is next, counted from the beginning
  bool busy_ = false;
  double now_ = 0;
  double ready_ = 0;  ///< when the idle time before the next operation is over
  std::vector<double> starts_, ends_, stalls_;
  std::vector<std::uint32_t> late_;
  std::uint64_t late_returns_ = 0;
};

/// In the order of need, each as early as its memory allows.
std::vector<Submission> by_need(const Workload& workload, const Schedule& schedule) {
  const auto count = static_cast<std::uint32_t>(workload.operations.size());
  std::vector<Submission> submissions;
  for (std::uint32_t r = 0; r < schedule.returns.size(); ++r) {
    const std::uint32_t earliest = schedule.returns[r].earliest;
    submissions.push_back({earliest % count, r, static_cast<std::int32_t>(earliest / count)});
  }
  const auto need = [&](const Submission& s) {
    return schedule.returns[s.transfer].needed - static_cast<std::uint32_t>(s.shift) * count;
  };
  std::stable_sort(submissions.begin(), submissions.end(), [&](const Submission& a, const Submission& b) {
    return a.position != b.position ? a.position < b.position : need(a) < need(b);
  });
  return submissions;
}

}  // namespace

QueueSimulation simulate_queues(const Workload& workload, const Schedule& schedule,
                                const SimulationOptions& options) {
  Queues queues(workload, schedule, options, false);
  queues.run();
  return queues.result();
}

std::vector<Submission> order_returns(const Workload& workload, const Schedule& schedule,
                                      const SimulationOptions& options) {
  Queues queues(workload, schedule, options, true);
  queues.run();
  const auto count = static_cast<std::int64_t>(workload.operations.size());
  const std::int64_t taken = kIterations - 2;  // the iteration whose submissions count
  std::vector<Submission> submissions;
  std::vector<int> times(schedule.returns.size());
  std::int64_t position = 0;
  for (const Instance& begun : queues.begun()) {
    const ReturnTransfer& transfer = schedule.returns[begun.transfer];
    position = std::max(position, begun.iteration * count + transfer.earliest);
    if (position / count != taken) continue;
    ++times[begun.transfer];
    submissions.push_back({static_cast<std::uint32_t>(position % count), begun.transfer,
                           static_cast<std::int32_t>(taken - begun.iteration)});
  }
  const bool regular = std::all_of(times.begin(), times.end(), [](int n) { return n == 1; });
  return regular ? submissions : by_need(workload, schedule);
}

}  // namespace tferry::analyzer
