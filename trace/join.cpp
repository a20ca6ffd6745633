#include "trace/join.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace tferry::trace {
namespace {

constexpr std::size_t kWindow = 64;    // both sides, searched for the shortest skip
constexpr std::size_t kFar = 1 << 16;  // one side, for bursts
constexpr std::size_t kRun = 4;        // this many in a row must fit after a short skip
constexpr std::size_t kFarRun = 16;    // and after a long one
constexpr int kMaxFarFailures = 16;
constexpr std::size_t kGap = 256;      // left-over pairs are sought in gaps up to this length
constexpr std::size_t kOvertaken = 8;  // and this far outside
constexpr std::size_t kAnchor = 16;    // this many pairs in a row are right, whatever comes later

/// What one call did: of one correlation id in one stream.
struct Unit {
  OperationShape shape;
  std::uint32_t correlation_id = 0;
  std::uint32_t graph_id = 0;
  std::int64_t start_ns = 0;
  std::vector<std::int64_t> records;
};

bool either(std::uint64_t a, std::uint64_t b) { return a == 0 || b == 0 || a == b; }
bool either(const Dim3& a, const Dim3& b) { return a == Dim3{} || b == Dim3{} || a == b; }

/// A copy between cards is device to device for a hook that does not ask whose memory it is.
bool directions_fit(CopyKind a, CopyKind b) {
  const auto plain = [](CopyKind kind) { return kind == CopyKind::kPeer ? CopyKind::kDeviceToDevice : kind; };
  return either(static_cast<std::uint64_t>(plain(a)), static_cast<std::uint64_t>(plain(b)));
}

/// Walks the calls and units of one sequence together; see join().
class Alignment {
 public:
  Alignment(std::span<const JoinCall* const> calls, std::span<const Unit> units, const JoinOptions& options,
            std::vector<std::int64_t>& unit_of_call)
      : calls_(calls), units_(units), options_(options), unit_of_call_(unit_of_call) {}

  void run() {
    std::size_t call = 0, unit = 0;
    while (call < calls_.size() && unit < units_.size()) {
      if (too_early(call, unit)) {
        ++unit;
      } else if (fits(call, unit)) {
        unit_of_call_[call++] = static_cast<std::int64_t>(unit++);
      } else {
        const auto skip = find_skip(call, unit);
        if (!skip) break;
        mismatches_.push_back(call);
        call += skip->calls;
        unit += skip->units;
      }
    }
    settle();
    pair_left_overs();
  }

  /// What lies before is settled.
  std::size_t calls_settled() const { return calls_settled_; }
  std::size_t units_settled() const { return units_settled_; }
  std::int64_t mismatches() const {
    return std::count_if(mismatches_.begin(), mismatches_.end(),
                         [&](std::size_t call) { return call < calls_settled_; });
  }

 private:
  struct Skip {
    std::size_t calls, units;
  };

  bool too_early(std::size_t call, std::size_t unit) const {
    const std::int64_t call_ns = calls_[call]->time_ns;
    return units_[unit].start_ns != 0 && call_ns > options_.clock_slack_ns &&
           units_[unit].start_ns < call_ns - options_.clock_slack_ns;
  }
  bool fits(std::size_t call, std::size_t unit) const {
    return shapes_fit(calls_[call]->shape, units_[unit].shape) && !too_early(call, unit);
  }
  bool run_fits(std::size_t call, std::size_t unit, std::size_t length) const {
    const std::size_t left = std::min(calls_.size() - call, units_.size() - unit);
    for (std::size_t i = 0; i < std::min(length, left); ++i) {
      if (!fits(call + i, unit + i)) return false;
    }
    return left > 0;
  }

  /// None where more calls or records are needed to tell.
  std::optional<Skip> find_skip(std::size_t call, std::size_t unit) {
    const std::size_t calls_left = calls_.size() - call, units_left = units_.size() - unit;
    const std::size_t enough = kWindow + kRun;
    if (may_wait() && (calls_left < enough || units_left < enough)) return std::nullopt;
    for (std::size_t distance = 1; distance <= kWindow; ++distance) {
      for (std::size_t skip = 0; skip <= distance; ++skip) {
        if (skip < calls_left && distance - skip < units_left &&
            run_fits(call + skip, unit + distance - skip, kRun)) {
          return Skip{skip, distance - skip};
        }
      }
    }
    if (may_wait() && (calls_left < kFar + kFarRun || units_left < kFar + kFarRun)) return std::nullopt;
    // Two sequences that have nothing in common must not cost a long search at every step.
    if (far_failures_ < kMaxFarFailures) {
      ++far_failures_;
      for (std::size_t skip = kWindow; skip < std::min(kFar, calls_left); ++skip) {
        if (run_fits(call + skip, unit, kFarRun)) return found_far({skip, 0});
      }
      for (std::size_t skip = kWindow; skip < std::min(kFar, units_left); ++skip) {
        if (run_fits(call, unit + skip, kFarRun)) return found_far({0, skip});
      }
    }
    return Skip{std::min(kWindow, calls_left), std::min(kWindow, units_left)};
  }

  bool may_wait() const {
    return !options_.last && calls_.size() <= options_.most_unsettled &&
           units_.size() <= options_.most_unsettled;
  }

  /// Everything, or what lies before the last pairs that stand in a row: a unit at the very end may get more
  /// records, and of those that follow each other closely one may have been overtaken.
  void settle() {
    calls_settled_ = calls_.size();
    units_settled_ = units_.size();
    if (options_.last) return;
    std::size_t in_a_row = 0, calls = 0, units = 0;
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      const std::int64_t unit = unit_of_call_[call];
      const bool follows = call > 0 && unit >= 0 && unit_of_call_[call - 1] == unit - 1;
      in_a_row = unit < 0 ? 0 : follows ? in_a_row + 1 : 1;
      if (in_a_row < 2 * kAnchor) continue;
      calls = call + 1 - kAnchor;
      units = static_cast<std::size_t>(unit) + 1 - kAnchor;
    }
    if (!may_wait()) {
      calls = std::max(calls, calls_.size() - std::min(calls_.size(), options_.most_unsettled / 2));
      units = std::max(units, units_.size() - std::min(units_.size(), options_.most_unsettled / 2));
    }
    forget_pairs_across(calls, units);
    calls_settled_ = calls;
    units_settled_ = units;
  }

  /// Only what is settled on both sides keeps its partner.
  void forget_pairs_across(std::size_t calls, std::size_t units) {
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      std::int64_t& unit = unit_of_call_[call];
      if (call >= calls || unit >= static_cast<std::int64_t>(units)) unit = JoinResult::kNone;
    }
  }

  std::optional<Skip> found_far(Skip skip) {
    far_failures_ = 0;
    return skip;
  }

  /// Calls and units without a partner, within a few places of each other.
  void pair_left_overs() {
    std::vector<bool> taken(units_.size());
    for (const std::int64_t unit : unit_of_call_) {
      if (unit >= 0) taken[static_cast<std::size_t>(unit)] = true;
    }
    // A call's partner lies between those of its matched neighbours, or a few places outside.
    std::vector<std::size_t> next(calls_settled_ + 1, units_settled_);
    for (std::size_t call = calls_settled_; call-- > 0;) {
      next[call] = unit_of_call_[call] >= 0 ? static_cast<std::size_t>(unit_of_call_[call]) : next[call + 1];
    }
    std::size_t before = 0;
    for (std::size_t call = 0; call < calls_settled_; ++call) {
      if (unit_of_call_[call] >= 0) {
        before = static_cast<std::size_t>(unit_of_call_[call]);
        continue;
      }
      const std::size_t first = before > kOvertaken ? before - kOvertaken : 0;
      const std::size_t last = std::min({units_settled_, next[call] + kOvertaken, first + kGap});
      for (std::size_t unit = first; unit < last; ++unit) {
        if (taken[unit] || !fits(call, unit)) continue;
        unit_of_call_[call] = static_cast<std::int64_t>(unit);
        taken[unit] = true;
        break;
      }
    }
  }

  std::span<const JoinCall* const> calls_;
  std::span<const Unit> units_;
  const JoinOptions& options_;
  std::vector<std::int64_t>& unit_of_call_;
  std::vector<std::size_t> mismatches_;  ///< calls at which the two did not fit
  std::size_t calls_settled_ = 0, units_settled_ = 0;
  int far_failures_ = 0;  ///< in a row
};

/// Everything of one stream, or all graph launches of the process.
struct Sequence {
  std::vector<std::int64_t> calls;    // indexes
  std::vector<std::int64_t> records;  // indexes
};

std::vector<Unit> make_units(std::span<const JoinRecord> records, std::vector<std::int64_t>& order) {
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const JoinRecord& left = records[static_cast<std::size_t>(a)];
    const JoinRecord& right = records[static_cast<std::size_t>(b)];
    if (left.correlation_id != right.correlation_id) return left.correlation_id < right.correlation_id;
    if (left.start_ns != right.start_ns) return left.start_ns < right.start_ns;
    return a < b;
  });
  std::vector<Unit> units;
  for (const std::int64_t index : order) {
    const JoinRecord& record = records[static_cast<std::size_t>(index)];
    // A graph's launch gives everything one id, and a copy or a set may run in parts. A kernel that no graph
    // launched is a call's only one: two of one id are two calls', of which one has the other's.
    const bool parts =
        !units.empty() && (record.graph_id != 0 || (record.shape.kind != OperationKind::kKernel &&
                                                    record.shape.kind == units.back().shape.kind));
    const bool part = parts && !record.alone && record.correlation_id != 0 &&
                      units.back().correlation_id == record.correlation_id;
    if (!part) {
      units.push_back({record.shape, record.correlation_id, record.graph_id, record.start_ns, {}});
      if (record.graph_id != 0) units.back().shape = {.kind = OperationKind::kGraph};
    } else if (record.graph_id == 0) {
      // Sizes come from files: their sum may overflow.
      units.back().shape.bytes =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(units.back().shape.bytes) +
                                    static_cast<std::uint64_t>(record.shape.bytes));
    }
    units.back().records.push_back(index);
  }
  return units;
}

}  // namespace

bool shapes_fit(const OperationShape& a, const OperationShape& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case OperationKind::kKernel:
      return either(a.name, b.name) && either(a.grid, b.grid) && either(a.block, b.block);
    case OperationKind::kMemcpy:
      return a.bytes == b.bytes && directions_fit(a.copy, b.copy);
    case OperationKind::kMemset:
      return a.bytes == b.bytes;
    case OperationKind::kGraph:
      break;
  }
  return true;
}

JoinResult join(std::span<const JoinCall> calls, std::span<const JoinRecord> records,
                const JoinOptions& options) {
  JoinResult result;
  result.record_of_call.assign(calls.size(), JoinResult::kNone);
  result.call_of_record.assign(records.size(), JoinResult::kNone);
  result.call_settled.assign(calls.size(), false);
  result.record_settled.assign(records.size(), false);

  std::map<std::uint64_t, Sequence> streams;
  Sequence graphs;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool graph = calls[i].shape.kind == OperationKind::kGraph;
    (graph ? graphs : streams[calls[i].stream]).calls.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    (records[i].graph_id != 0 ? graphs : streams[records[i].stream])
        .records.push_back(static_cast<std::int64_t>(i));
  }

  const auto align = [&](Sequence& sequence, auto&& before) {
    std::sort(sequence.calls.begin(), sequence.calls.end(), [&](std::int64_t a, std::int64_t b) {
      return before(calls[static_cast<std::size_t>(a)], calls[static_cast<std::size_t>(b)]);
    });
    const std::vector<Unit> units = make_units(records, sequence.records);
    std::vector<const JoinCall*> ordered;
    for (const std::int64_t call : sequence.calls) ordered.push_back(&calls[static_cast<std::size_t>(call)]);
    std::vector<std::int64_t> unit_of_call(ordered.size(), JoinResult::kNone);
    Alignment alignment(ordered, units, options, unit_of_call);
    alignment.run();
    result.counts.resynchronisations += alignment.mismatches();
    for (std::size_t unit = 0; unit < alignment.units_settled(); ++unit) {
      for (const std::int64_t record : units[unit].records) {
        result.record_settled[static_cast<std::size_t>(record)] = true;
        ++result.counts.records;
      }
    }
    for (std::size_t i = 0; i < alignment.calls_settled(); ++i) {
      result.call_settled[static_cast<std::size_t>(sequence.calls[i])] = true;
      ++result.counts.calls;
      if (unit_of_call[i] < 0) continue;
      const Unit& unit = units[static_cast<std::size_t>(unit_of_call[i])];
      result.record_of_call[static_cast<std::size_t>(sequence.calls[i])] = unit.records.front();
      ++result.counts.matched_calls;
      for (const std::int64_t record : unit.records) {
        result.call_of_record[static_cast<std::size_t>(record)] = sequence.calls[i];
        ++result.counts.matched_records;
      }
    }
  };
  for (auto& [stream, sequence] : streams) {
    align(sequence, [](const JoinCall& a, const JoinCall& b) { return a.sequence < b.sequence; });
  }
  align(graphs, [](const JoinCall& a, const JoinCall& b) { return a.time_ns < b.time_ns; });
  return result;
}

}  // namespace tferry::trace
