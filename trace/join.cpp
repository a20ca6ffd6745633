#include "trace/join.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace tferry::trace {
namespace {

constexpr std::size_t kWindow = 64;    // both sides, searched for the shortest skip
constexpr std::size_t kFar = 1 << 16;  // one side, for bursts
constexpr std::size_t kRun = 4;        // this many in a row must fit after a short skip
constexpr std::size_t kFarRun = 16;    // and after a long one
constexpr int kMaxFarFailures = 16;
constexpr std::size_t kGap = 256;      // left-over pairs are sought in gaps up to this length
constexpr std::size_t kOvertaken = 8;  // and this far outside

/// Records of one correlation id in one stream: what one call did.
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
  Alignment(std::span<const JoinCall* const> calls, std::span<const Unit> units, std::int64_t slack_ns,
            std::vector<std::int64_t>& unit_of_call, JoinCounts& counts)
      : calls_(calls), units_(units), slack_ns_(slack_ns), unit_of_call_(unit_of_call), counts_(counts) {}

  void run() {
    std::size_t call = 0, unit = 0;
    while (call < calls_.size() && unit < units_.size()) {
      if (too_early(call, unit)) {
        ++unit;
      } else if (fits(call, unit)) {
        unit_of_call_[call++] = static_cast<std::int64_t>(unit++);
      } else {
        ++counts_.resynchronisations;
        const auto [skip_calls, skip_units] = find_skip(call, unit);
        call += skip_calls;
        unit += skip_units;
      }
    }
    pair_left_overs();
  }

 private:
  struct Skip {
    std::size_t calls, units;
  };

  bool too_early(std::size_t call, std::size_t unit) const {
    const std::int64_t call_ns = calls_[call]->time_ns;
    return units_[unit].start_ns != 0 && call_ns > slack_ns_ && units_[unit].start_ns < call_ns - slack_ns_;
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

  Skip find_skip(std::size_t call, std::size_t unit) {
    const std::size_t calls_left = calls_.size() - call, units_left = units_.size() - unit;
    for (std::size_t distance = 1; distance <= kWindow; ++distance) {
      for (std::size_t skip = 0; skip <= distance; ++skip) {
        if (skip < calls_left && distance - skip < units_left &&
            run_fits(call + skip, unit + distance - skip, kRun)) {
          return {skip, distance - skip};
        }
      }
    }
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
    return {std::min(kWindow, calls_left), std::min(kWindow, units_left)};
  }

  Skip found_far(Skip skip) {
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
    std::vector<std::size_t> next(calls_.size() + 1, units_.size());
    for (std::size_t call = calls_.size(); call-- > 0;) {
      next[call] = unit_of_call_[call] >= 0 ? static_cast<std::size_t>(unit_of_call_[call]) : next[call + 1];
    }
    std::size_t before = 0;
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      if (unit_of_call_[call] >= 0) {
        before = static_cast<std::size_t>(unit_of_call_[call]);
        continue;
      }
      const std::size_t first = before > kOvertaken ? before - kOvertaken : 0;
      const std::size_t last = std::min({units_.size(), next[call] + kOvertaken, first + kGap});
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
  std::int64_t slack_ns_;
  std::vector<std::int64_t>& unit_of_call_;
  JoinCounts& counts_;
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
    const bool part =
        !units.empty() && record.correlation_id != 0 && units.back().correlation_id == record.correlation_id;
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
  result.counts.calls = static_cast<std::int64_t>(calls.size());
  result.counts.records = static_cast<std::int64_t>(records.size());

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
    Alignment(ordered, units, options.clock_slack_ns, unit_of_call, result.counts).run();
    for (std::size_t i = 0; i < unit_of_call.size(); ++i) {
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
