#include "analyzer/contention/intervals.hpp"
#include "analyzer/session/read_transfers.hpp"
#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <map>

namespace tferry::cli {
namespace {

using analyzer::Interval;
using analyzer::RecordedTraffic;
using analyzer::Way;

constexpr int kSpans = 12;  // of the table over time

const char* name_of(Way way) { return way == Way::kIn ? "h2d" : "d2h"; }

bool wanted(const Scope& scope, const analyzer::HostTransfer& transfer) {
  return transfer.way != Way::kPeer && (!scope.from_ns() || transfer.start_ns >= *scope.from_ns()) &&
         (!scope.to_ns() || transfer.start_ns < *scope.to_ns());
}

using Key = std::pair<std::int64_t, Way>;

struct Use {
  std::int64_t bytes = 0;
  std::vector<Interval> busy;
};

std::map<Key, Use> uses(const Scope& scope, const RecordedTraffic& recorded) {
  std::map<Key, Use> found;
  for (const auto& transfer : recorded.transfers) {
    if (!wanted(scope, transfer)) continue;
    Use& use = found[{transfer.device, transfer.way}];
    use.bytes += transfer.bytes;
    use.busy.push_back({transfer.start_ns, transfer.end_ns});
  }
  for (auto& [key, use] : found) use.busy = analyzer::united(std::move(use.busy));
  return found;
}

std::optional<double> capacity(const RecordedTraffic& recorded, const Key& key) {
  const auto rates = recorded.calibrated.find(key.first);
  if (rates == recorded.calibrated.end()) return std::nullopt;
  const std::optional<double>& rate = key.second == Way::kIn ? rates->second.in : rates->second.out;
  return rate ? std::optional(*rate * 1e9) : std::nullopt;
}

Table totals(const Scope& scope, const RecordedTraffic& recorded, const std::map<Key, Use>& found) {
  Table table("links", "What crossed each GPU's link",
              {{"gpu"},
               {"direction"},
               {"bytes", Unit::kBytes},
               {"busy", Unit::kNanoseconds},
               {"rate_while_busy", Unit::kBytesPerSecond},
               {"capacity", Unit::kBytesPerSecond},
               {"by_counter", Unit::kBytes},
               {"unexplained", Unit::kBytes}});
  const analyzer::TrafficCheck check = analyzer::check_traffic(recorded.transfers, recorded.counters);
  bool counted = false, known = false;
  for (const auto& [key, use] : found) {
    const auto busy = analyzer::length(use.busy);
    const std::optional<double> rate =
        busy > 0 ? std::optional(static_cast<double>(use.bytes) / static_cast<double>(busy) * 1e9)
                 : std::nullopt;
    const auto link = check.links.find(key);
    const bool sampled = link != check.links.end();
    const auto limit = capacity(recorded, key);
    counted |= sampled;
    known |= limit.has_value();
    table.add(KnownBy::kMeasured, {scope.gpu_name(key.first), name_of(key.second), use.bytes, busy, rate,
                                   limit, sampled ? Cell(link->second.counted_bytes) : Cell(),
                                   sampled ? Cell(link->second.unexplained_bytes) : Cell()});
  }
  if (!counted) table.notes.emplace_back("unknown: no PCIe counters were sampled; see tferry report quality");
  if (!known)
    table.notes.emplace_back("unknown: the capacity of the links; no calibration is in this session");
  if (counted) {
    table.notes.push_back(
        fmt::format("counters see {:.1f} % more than a copy's bytes (packets), and {:.1f} % the other way; "
                    "beyond {:.0f} % of that, "
                    "traffic is unexplained",
                    (analyzer::kWireShare - 1) * 100, analyzer::kReturnShare * 100,
                    (analyzer::kTrafficTolerance - 1) * 100));
  }
  return table;
}

/// Share of equal spans of time in which something crossed, by GPU and direction.
Table over_time(const Scope& scope, const std::map<Key, Use>& found) {
  std::vector<Column> columns{{"after_start", Unit::kNanoseconds}, {"lasts", Unit::kNanoseconds}};
  for (const auto& [key, use] : found) {
    columns.push_back(
        {fmt::format("gpu_{}_{}", scope.gpu_name(key.first), name_of(key.second)), Unit::kShare});
  }
  Table table("links", "Share of the time in which something crossed, over time", columns);
  std::int64_t begin = 0, end = 0;
  for (const auto& [key, use] : found) {
    if (use.busy.empty()) continue;
    begin = end == 0 ? use.busy.front().begin : std::min(begin, use.busy.front().begin);
    end = std::max(end, use.busy.back().end);
  }
  const std::int64_t span = (end - begin + kSpans - 1) / kSpans;
  for (std::int64_t from = begin; span > 0 && from < end; from += span) {
    std::vector<Cell> cells{from - scope.start_ns(), span};
    for (const auto& [key, use] : found) {
      cells.emplace_back(static_cast<double>(analyzer::overlap(use.busy, from, from + span)) /
                         static_cast<double>(span));
    }
    table.add(KnownBy::kMeasured, std::move(cells));
  }
  return table;
}

Table exposed(const Scope& scope, const RecordedTraffic& recorded) {
  Table table("links", "Transfers that kernels hid, and those that they did not",
              {{"gpu"},
               {"stream"},
               {"direction"},
               {"transfers", Unit::kNanoseconds},
               {"hidden", Unit::kNanoseconds},
               {"exposed", Unit::kNanoseconds}});
  std::map<std::tuple<std::int64_t, std::int64_t, Way>, std::vector<Interval>> streams;
  for (const auto& transfer : recorded.transfers) {
    if (wanted(scope, transfer))
      streams[{transfer.device, transfer.stream, transfer.way}].push_back(
          {transfer.start_ns, transfer.end_ns});
  }
  for (auto& [key, intervals] : streams) {
    const auto& [device, stream, way] = key;
    const auto computing = recorded.computing.find(device);
    intervals = analyzer::united(std::move(intervals));
    std::int64_t hidden = 0;
    for (const Interval& one : intervals) {
      if (computing != recorded.computing.end())
        hidden += analyzer::overlap(computing->second, one.begin, one.end);
    }
    const std::int64_t all = analyzer::length(intervals);
    table.add(KnownBy::kMeasured, {scope.gpu_name(device), stream == 0 ? Cell() : Cell(stream), name_of(way),
                                   all, hidden, all - hidden});
  }
  return table;
}

}  // namespace

std::vector<Table> report_links(const Scope& scope) {
  RecordedTraffic recorded = analyzer::read_transfers(scope.session());
  std::erase_if(recorded.transfers,
                [&](const auto& transfer) { return !scope.includes(transfer.process, transfer.device); });
  const std::map<Key, Use> found = uses(scope, recorded);
  return {totals(scope, recorded, found), over_time(scope, found), exposed(scope, recorded)};
}

}  // namespace tferry::cli
