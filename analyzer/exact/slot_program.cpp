#include "analyzer/exact/slot_program.hpp"

#include "analyzer/exact/linear_program.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tferry::analyzer {
namespace {

/// A row of the program: terms and what is certain.
struct Row {
  LinearProgram::Terms terms;
  double constant = 0;
};

/// Columns: begun[i][k], operation i has begun k slots after its earliest; per gap and slot of the unrolled
/// axis what goes out, comes in, is absent from the card, and has a copy in host memory. Chunks may be split,
/// which only makes a period that does not exist harder to prove.
class SlotProgram {
 public:
  SlotProgram(const Workload& workload, const Slots& slots, std::int64_t period, Copies copies)
      : workload_(workload),
        slots_(slots),
        copies_(copies),
        uses_(workload),
        period_(period),
        memory_(static_cast<std::size_t>(period)),
        out_(memory_.size()),
        in_(memory_.size()) {
    add_operations();
    if (slack_ < 0) return;
    for (const Gap& gap : gaps(workload, uses_)) {
      if (gap.needed) add_gap(gap);
    }
    for (const GapColumns& gap : gaps_) add_host_copies(gap);
    for (std::size_t t = 0; t < memory_.size(); ++t) {
      at_most(memory_[t], static_cast<double>(workload.budget / slots.chunk_bytes));
      program_.at_most(out_[t], 1);
      program_.at_most(in_[t], 1);
    }
  }

  std::optional<bool> feasible(double seconds) {
    if (slack_ < 0) return false;
    const bool found = program_.minimise(seconds).has_value();
    if (!found && program_.gave_up()) return std::nullopt;
    return found;
  }

 private:
  struct GapColumns {
    Gap gap;
    std::int64_t first = 0;  ///< slot of the unrolled axis of the first columns
    std::vector<int> out, in, absent, copied;
  };

  std::size_t at(std::int64_t slot) const { return static_cast<std::size_t>(slot % period_); }
  std::int64_t duration(std::size_t i) const { return workload_.operations[i].duration_ns / slots_.slot_ns; }
  double chunks(std::uint32_t tensor) const {
    return static_cast<double>(workload_.tensors[tensor].size / slots_.chunk_bytes);
  }
  void at_most(const Row& row, double limit) { program_.at_most(row.terms, limit - row.constant); }

  void add_operations() {
    const std::size_t count = workload_.operations.size();
    slack_ = period_;
    for (std::size_t i = 0; i < count; ++i) slack_ -= duration(i);
    std::int64_t earliest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      earliest_.push_back(earliest);
      earliest += duration(i);
      std::vector<int> columns;
      for (std::int64_t k = 0; k < slack_ && i > 0; ++k) {  // the first operation marks slot 0
        columns.push_back(program_.column(0, 0, 1, true));
        if (k > 0) program_.at_most({{columns[columns.size() - 2], 1}, {columns.back(), -1}}, 0);
        // Later by at least as much as the one before.
        if (i > 1)
          program_.at_most({{columns.back(), 1}, {begun_[i - 1][static_cast<std::size_t>(k)], -1}}, 0);
      }
      begun_.push_back(std::move(columns));
    }
    for (std::size_t i = 0; i < count && slack_ >= 0; ++i) {
      double bytes = 0;
      for (const Use& use : uses_.of_operation(i)) bytes += chunks(use.tensor);
      for (std::int64_t t = 0; t < period_; ++t) {
        add_begun(memory_[at(t)], i, t, bytes);
        add_begun(memory_[at(t)], i, t - duration(i), -bytes);
      }
    }
  }

  /// "Operation i has begun by slot t", times a factor.
  void add_begun(Row& row, std::size_t i, std::int64_t t, double factor) const {
    const std::int64_t k = t - earliest_[i];
    if (k < 0) return;
    if (i == 0 || k >= slack_)
      row.constant += factor;
    else
      row.terms.emplace_back(begun_[i][static_cast<std::size_t>(k)], factor);
  }

  /// "Slot t lies in the gap", times a factor.
  void add_within(Row& row, const Gap& gap, std::int64_t t, double factor) const {
    const auto count = static_cast<std::uint32_t>(workload_.operations.size());
    add_begun(row, gap.after, t - duration(gap.after), factor);
    add_begun(row, gap.before % count, t - (gap.before >= count ? period_ : 0), -factor);
  }

  void add_gap(const Gap& gap) {
    const auto count = static_cast<std::uint32_t>(workload_.operations.size());
    GapColumns columns{gap, earliest_[gap.after] + duration(gap.after), {}, {}, {}, {}};
    const std::int64_t end = earliest_[gap.before % count] + slack_ + (gap.before >= count ? period_ : 0);
    const double size = chunks(gap.tensor);
    for (std::int64_t t = columns.first; t < end; ++t) {
      const int out = program_.column(0, 0, 1), in = program_.column(0, 0, 1);
      const int absent = program_.column(0, 0, size), copied = program_.column(0, 0, size);
      const auto only_within = [&](int column, double most) {
        Row row{{{column, 1}}, 0};
        add_within(row, gap, t, -most);
        at_most(row, 0);
      };
      only_within(out, 1);
      only_within(in, 1);
      only_within(absent, size);
      program_.at_most({{absent, 1}, {copied, -1}}, 0);
      // What was absent still is, or comes in.
      if (!columns.absent.empty()) program_.at_most({{columns.absent.back(), 1}, {absent, -1}, {in, -1}}, 0);
      out_[at(t)].emplace_back(out, 1);
      in_[at(t)].emplace_back(in, 1);
      add_within(memory_[at(t)], gap, t, size);
      memory_[at(t)].terms.emplace_back(absent, -1);
      columns.out.push_back(out);
      columns.in.push_back(in);
      columns.absent.push_back(absent);
      columns.copied.push_back(copied);
    }
    if (!columns.absent.empty()) program_.at_most({{columns.absent.back(), 1}}, 0);  // the use behind begins
    gaps_.push_back(std::move(columns));
  }

  /// Copies in host memory grow by what goes out, from those that the gap before left unless its use writes.
  void add_host_copies(const GapColumns& here) {
    const auto life = uses_.of_tensor(here.gap.tensor);
    if (std::none_of(life.begin(), life.end(), [](const Use& use) { return use.writes; })) return;
    for (std::size_t k = 0; k < here.copied.size(); ++k) {
      LinearProgram::Terms row{{here.copied[k], 1}};
      if (k > 0) {
        row.insert(row.end(), {{here.copied[k - 1], -1}, {here.out[k - 1], -1}});
      } else if (const GapColumns* before = keeps_copies(here.gap) ? gap_before(here.gap) : nullptr) {
        row.insert(row.end(), {{before->copied.back(), -1}, {before->out.back(), -1}});
      }
      program_.at_most(row, 0);
    }
  }

  bool keeps_copies(const Gap& gap) const { return copies_ == Copies::kLast && !gap.written_before; }

  const GapColumns* gap_before(const Gap& gap) const {
    const std::size_t count = workload_.operations.size();
    for (const GapColumns& other : gaps_) {
      const bool ends_here = other.gap.before % count == gap.after && !other.copied.empty();
      if (other.gap.tensor == gap.tensor && ends_here) return &other;
    }
    return nullptr;
  }

  const Workload& workload_;
  Slots slots_;
  Copies copies_;
  Uses uses_;
  std::int64_t period_;
  std::int64_t slack_ = 0;  ///< slots in which no operation runs
  LinearProgram program_;
  std::vector<std::int64_t> earliest_;  ///< slot in which each operation could begin if nothing ever waited
  std::vector<std::vector<int>> begun_;
  std::vector<GapColumns> gaps_;
  std::vector<Row> memory_;
  std::vector<LinearProgram::Terms> out_, in_;
};

}  // namespace

std::optional<bool> schedule_exists(const Workload& workload, const Slots& slots, std::int64_t period,
                                    double seconds, Copies copies) {
  return SlotProgram(workload, slots, period, copies).feasible(seconds);
}

std::optional<std::int64_t> shortest_period(const Workload& workload, const Slots& slots, std::int64_t lowest,
                                            std::int64_t highest, double seconds, Copies copies) {
  for (std::int64_t period = highest; period > lowest; --period) {
    const std::optional<bool> exists = schedule_exists(workload, slots, period - 1, seconds, copies);
    if (!exists) return std::nullopt;
    if (!*exists) return period;
  }
  return lowest;
}

}  // namespace tferry::analyzer
