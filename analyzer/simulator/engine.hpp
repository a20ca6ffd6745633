#pragma once

#include "analyzer/simulator/link.hpp"
#include "analyzer/simulator/policy.hpp"
#include "analyzer/simulator/simulator.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>

namespace tferry::analyzer {

/// One rank of a simulation (simulator.hpp tells the model): operations, launching thread, memory. Whoever
/// owns it advances its time together with that of the link, which may be one of its own or shared. One
/// thread.
class Engine final : public Mover {
  static constexpr double kNever = std::numeric_limits<double>::infinity();

 public:
  Engine(const Workload& workload, Policy& policy, const SimulationOptions& options, TransferPort& link)
      : workload_(workload),
        policy_(policy),
        options_(options),
        uses_(workload),
        memory_(workload),
        link_(link),
        count_(workload.operations.size()),
        end_(count_ * static_cast<std::uint64_t>(options.iterations) + 1),
        run_ahead_(std::max<std::uint64_t>(1, policy.run_ahead(options.run_ahead))),
        dies_at_(count_),
        alive_(workload.tensors.size()),
        needed_after_(next_uses()),
        started_(count_ + 1) {
    for (std::size_t i = 0; i < count_; ++i) {
      const Operation& operation = workload.operations[i];
      started_[i + 1] = started_[i] + static_cast<double>(operation.duration_ns + operation.gap_ns);
    }
    for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
      const Tensor& tensor = workload.tensors[t];
      if (tensor.persistent) continue;
      dies_at_[tensor.death].push_back(static_cast<std::uint32_t>(t));
      alive_[t] = tensor.death < tensor.birth;
    }
  }

  /// Everything that takes no time.
  void act() {
    while (launch() || issue_in() || issue_out() || start_operation()) {
    }
  }

  /// The first operation beyond the last iteration has started.
  bool done() const { return running_ >= end_ || (running_ + 1 == end_ && busy_); }
  /// Position of the operation that runs or comes next.
  std::uint64_t position() const { return running_; }
  std::size_t operations() const { return count_; }
  /// Operations from here on do not start until it is moved.
  void hold_from(std::uint64_t position) { held_from_ = position; }
  void begin_at(double time_ns) { gap_ends_ = time_ns; }

  /// Until something of its own happens: an idle time is over, an operation ends.
  double time_left() const {
    const double gap = gap_ends_ > now_ ? gap_ends_ - now_ : kNever;
    return std::min(gap, busy_ ? finishes_ - now_ : kNever);
  }

  /// Not beyond time_left(); with the transfers that end then.
  void advance(double time, bool in_ended, bool out_ended) {
    const double gap = gap_ends_ > now_ ? gap_ends_ - now_ : kNever;
    now_ = time == gap ? gap_ends_ : busy_ && time == finishes_ - now_ ? finishes_ : now_ + time;
    if (in_ended) {
      memory_[in_flight_.tensor].present += in_flight_.bytes;
      moved_.push_back({running_, in_flight_.bytes, 0});
    }
    if (out_ended) finish_out();
    if (busy_ && finishes_ <= now_) finish_operation();
  }

  Simulation result() {
    result_.stalls_ns.resize(count_);
    summarise();
    return std::move(result_);
  }

  const Memory& memory() const override { return memory_; }
  std::int64_t leaving() const override {
    // What flies out of a tensor that was freed meanwhile gives no room any more.
    return leaving_ - (out_freed_ && link_.busy(Link::kOut) ? out_flight_.bytes : 0);
  }

  void page_out(std::uint32_t tensor, std::int64_t bytes) override {
    TensorState& state = memory_[tensor];
    bytes = std::min(bytes, state.evictable());
    if (bytes <= 0) return;
    if (!state.needed) {
      memory_.drop(tensor, bytes);
      return;
    }
    const std::int64_t good =
        state.leaving == 0 ? std::max<std::int64_t>(0, state.present - (state.size - state.host)) : 0;
    const std::int64_t clean = std::min(bytes, good);
    memory_.drop(tensor, clean);
    if (bytes == clean) return;
    state.leaving += bytes - clean;
    leaving_ += bytes - clean;
    out_queue_.push_back({tensor, bytes - clean});
  }

  void prefetch(std::uint32_t tensor, std::int64_t bytes, std::uint64_t due) override {
    const Prefetch order{tensor, bytes, due};
    const auto at = std::upper_bound(prefetches_.begin(), prefetches_.end(), order,
                                     [](const Prefetch& a, const Prefetch& b) { return a.due < b.due; });
    prefetches_.insert(at, order);
  }

 private:
  struct PageOut {
    std::uint32_t tensor;
    std::int64_t bytes;
  };
  struct Prefetch {
    std::uint32_t tensor;
    std::int64_t bytes;
    std::uint64_t due;
  };
  struct Flight {
    std::uint32_t tensor = 0;
    std::int64_t bytes = 0;
  };

  std::span<const Use> uses_at(std::uint64_t position) const { return uses_.of_operation(position % count_); }

  /// For each use in the order of uses_: whether the contents are read again after it.
  std::vector<std::vector<bool>> next_uses() const {
    std::vector<std::vector<bool>> needed(count_);
    for (std::size_t i = 0; i < count_; ++i) needed[i].resize(uses_.of_operation(i).size());
    for (const Gap& gap : gaps(workload_, uses_)) {
      const auto at = uses_.of_operation(gap.after);
      for (std::size_t k = 0; k < at.size(); ++k) {
        if (at[k].tensor == gap.tensor) needed[gap.after][k] = gap.needed;
      }
    }
    return needed;
  }

  bool launch() {
    if (launched_ >= running_ + run_ahead_ + (busy_ ? 1 : 0)) return false;
    if (!acquiring_ && !begin_acquiring()) return false;
    std::int64_t lacking = 0;
    bool settled = true;
    // Room that is to be filled by the operation itself can wait until those before it have given theirs
    // back.
    const bool next_to_run = running_ == launched_ && !busy_;
    for (const Use& use : uses_at(launched_)) {
      TensorState& state = memory_[use.tensor];
      if (!use.reads && policy_.patient() && !next_to_run) {
        settled = false;
        continue;
      }
      const std::int64_t got = memory_.grab(use.tensor, state.missing());
      if (!use.reads && state.pins == 1) {
        if (flies_in(use.tensor))
          settled = false;
        else
          state.present = state.card, state.host = 0;
      }
      if (use.reads && got > 0 &&
          std::find(fetching_.begin(), fetching_.end(), use.tensor) == fetching_.end()) {
        fetching_.push_back(use.tensor);
      }
      lacking += state.missing();
    }
    lacking_ = lacking;
    result_.peak_bytes = std::max(result_.peak_bytes, workload_.budget - memory_.free());
    const bool may_wait = policy_.patient() && (leaving_ > 0 || running_ < launched_);
    if (lacking > leaving_ && !may_wait) {
      const std::int64_t more = lacking - leaving_ - dying();
      if (more > 0 && make_room(more)) return true;
    }
    if (lacking > 0 || !settled || !fetching_.empty()) return false;
    acquiring_ = false;
    ++launched_;
    return true;
  }

  /// Time until a position would be reached if nothing waited.
  double until(std::uint64_t position) const {
    const auto start = [&](std::uint64_t p) {
      return static_cast<double>(p / count_) * started_.back() + started_[p % count_];
    };
    return start(std::max(position, running_)) - start(running_);
  }

  bool flies_in(std::uint32_t tensor) const { return link_.busy(Link::kIn) && in_flight_.tensor == tensor; }

  /// Pins the working set; not yet while a tensor that begins a new life is still in the one before.
  bool begin_acquiring() {
    for (const Use& use : uses_at(launched_)) {
      if (first_of_life(use) && alive_[use.tensor]) return false;
    }
    acquiring_ = true;
    bool late = false;
    for (const Use& use : uses_at(launched_)) {
      TensorState& state = memory_[use.tensor];
      ++state.pins;
      if (state.leaving > 0) cancel_page_outs(use.tensor);
      late |= use.reads && state.present < state.size;
      if (first_of_life(use)) alive_[use.tensor] = true;
      policy_.launching(use.tensor, launched_);
    }
    late_.push_back(late);
    return true;
  }

  void cancel_page_outs(std::uint32_t tensor) {
    std::erase_if(out_queue_, [&](const PageOut& order) {
      if (order.tensor != tensor) return false;
      memory_[tensor].leaving -= order.bytes;
      leaving_ -= order.bytes;
      return true;
    });
  }

  bool first_of_life(const Use& use) const {
    return !workload_.tensors[use.tensor].persistent &&
           uses_.of_tensor(use.tensor)[0].operation == use.operation;
  }

  /// Bytes that launched operations will free when they end.
  std::int64_t dying() const {
    std::int64_t bytes = 0;
    for (std::uint64_t position = running_; position < launched_; ++position) {
      for (const std::uint32_t tensor : dies_at_[position % count_]) bytes += memory_[tensor].card;
    }
    return bytes;
  }

  /// True when room was made at once, by dropping.
  bool make_room(std::int64_t bytes) {
    const std::int64_t free_before = memory_.free();
    while (bytes > 0) {
      const std::optional<std::uint32_t> tensor = policy_.victim(memory_, launched_);
      if (!tensor) break;
      const std::int64_t taken =
          std::min(std::min(options_.chunk_bytes, bytes), memory_[*tensor].evictable());
      if (taken <= 0) throw std::logic_error("a policy chose a victim that cannot leave");
      policy_.evicted(*tensor, taken);
      page_out(*tensor, taken);
      bytes -= taken;
    }
    return memory_.free() > free_before;
  }

  bool issue_in() {
    if (link_.busy(Link::kIn)) return false;
    while (!fetching_.empty()) {
      const TensorState& state = memory_[fetching_.front()];
      const std::int64_t bytes = std::min(options_.chunk_bytes, state.card - state.present);
      const std::uint32_t tensor = fetching_.front();
      if (bytes == state.card - state.present) fetching_.pop_front();
      if (bytes > 0) return start_in(tensor, bytes, until(launched_));
    }
    if (acquiring_ && lacking_ > 0) return false;
    while (!prefetches_.empty()) {
      Prefetch& next = prefetches_.front();
      const TensorState& state = memory_[next.tensor];
      if (next.due < launched_ || next.bytes <= 0 || state.missing() == 0) {
        prefetches_.pop_front();
        continue;
      }
      const std::int64_t bytes = std::min({options_.chunk_bytes, next.bytes, state.missing()});
      if (state.leaving > 0 || memory_.free() < bytes) return false;
      next.bytes -= memory_.grab(next.tensor, bytes);
      result_.peak_bytes = std::max(result_.peak_bytes, workload_.budget - memory_.free());
      return start_in(next.tensor, bytes, until(next.due));
    }
    return false;
  }

  bool start_in(std::uint32_t tensor, std::int64_t bytes, double urgency) {
    in_flight_ = {tensor, bytes};
    link_.start(Link::kIn, static_cast<double>(bytes), urgency);
    return true;
  }

  bool issue_out() {
    if (link_.busy(Link::kOut)) return false;
    if (out_queue_.empty()) return false;
    PageOut& order = out_queue_.front();
    const std::int64_t bytes = std::min(options_.chunk_bytes, order.bytes);
    out_flight_ = {order.tensor, bytes};
    out_freed_ = false;
    order.bytes -= bytes;
    if (order.bytes == 0) out_queue_.pop_front();
    link_.start(Link::kOut, static_cast<double>(bytes), until(launched_));
    return true;
  }

  bool start_operation() {
    if (busy_ || running_ >= launched_ || now_ < gap_ends_ || running_ >= held_from_) return false;
    for (const Use& use : uses_at(running_)) {
      if (memory_[use.tensor].present < memory_[use.tensor].size) return false;
      if (use.writes && link_.busy(Link::kOut) && out_flight_.tensor == use.tensor) return false;
    }
    for (const Use& use : uses_at(running_)) {
      if (use.writes) memory_[use.tensor].host = 0;
    }
    busy_ = true;
    result_.starts_ns.push_back(now_);
    result_.stalls_ns.resize(count_);
    result_.stalls_ns[running_ % count_] = now_ - std::max(idle_since_, gap_ends_);
    stalls_.push_back(now_ - std::max(idle_since_, gap_ends_));
    finishes_ = now_ + static_cast<double>(workload_.operations[running_ % count_].duration_ns);
    return true;
  }

  void finish_operation() {
    busy_ = false;
    idle_since_ = now_;
    const std::size_t operation = running_ % count_;
    const auto uses = uses_.of_operation(operation);
    for (std::size_t k = 0; k < uses.size(); ++k) {
      --memory_[uses[k].tensor].pins;
      memory_[uses[k].tensor].needed = needed_after_[operation][k];
    }
    for (const std::uint32_t tensor : dies_at_[operation]) {
      alive_[tensor] = false;
      if (link_.busy(Link::kOut) && out_flight_.tensor == tensor) out_freed_ = true;
      cancel_page_outs(tensor);
      memory_.release(tensor);
    }
    policy_.finished(running_, *this);
    ++running_;
    gap_ends_ = now_ + static_cast<double>(workload_.operations[running_ % count_].gap_ns);
  }

  void finish_out() {
    TensorState& state = memory_[out_flight_.tensor];
    moved_.push_back({running_, 0, out_flight_.bytes});
    leaving_ -= out_flight_.bytes;
    if (out_freed_) return;
    state.leaving -= out_flight_.bytes;
    state.host = std::max(state.host, state.size - (state.present - out_flight_.bytes));
    if (state.pins == 0) memory_.drop(out_flight_.tensor, out_flight_.bytes);
  }

  void summarise() {
    const auto start = [&](std::uint64_t iteration) { return result_.starts_ns[iteration * count_]; };
    const auto iterations = static_cast<std::uint64_t>(options_.iterations);
    for (std::uint64_t i = 0; i < iterations; ++i) result_.iteration_ns.push_back(start(i + 1) - start(i));
    const std::uint64_t measured = std::min(static_cast<std::uint64_t>(options_.measured), iterations);
    const std::uint64_t first = (iterations - measured) * count_;
    result_.time_ns = (start(iterations) - start(iterations - measured)) / static_cast<double>(measured);
    for (const Moved& m : moved_) {
      if (m.position < first || m.position >= first + measured * count_) continue;
      result_.bytes_in += m.in;
      result_.bytes_out += m.out;
    }
    for (std::uint64_t p = first; p < first + measured * count_; ++p) {
      result_.late_fetches += late_[p];
      result_.stall_ns += stalls_[p];
    }
    result_.bytes_in /= static_cast<std::int64_t>(measured);
    result_.bytes_out /= static_cast<std::int64_t>(measured);
    result_.late_fetches /= measured;
    result_.stall_ns /= static_cast<double>(measured);
  }

  struct Moved {
    std::uint64_t position;
    std::int64_t in, out;
  };

  const Workload& workload_;
  Policy& policy_;
  SimulationOptions options_;
  Uses uses_;
  Memory memory_;
  TransferPort& link_;
  std::uint64_t count_;
  std::uint64_t end_;  ///< positions to start: all iterations, and the first operation of one more
  std::uint64_t run_ahead_;
  std::vector<std::vector<std::uint32_t>> dies_at_;
  std::vector<bool> alive_;  ///< by tensor, those that are not persistent: launched first use, not yet dead
  std::vector<std::vector<bool>> needed_after_;
  std::vector<double> started_;  ///< by operation, when nothing waits

  double now_ = 0;
  double gap_ends_ = 0;  ///< when the idle time before the next operation is over
  double finishes_ = kNever;
  double idle_since_ = 0;
  std::uint64_t launched_ = 0;  ///< position that the launching thread is at
  std::uint64_t running_ = 0;   ///< position that the GPU is at
  std::uint64_t held_from_ = ~std::uint64_t{0};
  bool busy_ = false;
  bool acquiring_ = false;
  std::int64_t lacking_ = 0;  ///< room the launching thread waits for
  std::int64_t leaving_ = 0;  ///< bytes ordered out and not yet gone
  std::deque<std::uint32_t> fetching_;
  std::deque<Prefetch> prefetches_;
  std::deque<PageOut> out_queue_;
  Flight in_flight_;
  Flight out_flight_;
  bool out_freed_ = false;  ///< what flies out has been freed meanwhile
  std::vector<bool> late_;
  std::vector<double> stalls_;
  std::vector<Moved> moved_;
  Simulation result_;
};

}  // namespace tferry::analyzer
