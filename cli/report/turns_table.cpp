#include "cli/report/turns_table.hpp"

#include "trace/session_slot_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tferry::cli {
namespace {

constexpr std::size_t kMostAcross = 256;  ///< turns that one may have waited for

struct Turn {
  std::int64_t rank = 0, asked_ns = 0, granted_ns = 0, ended_ns = 0;
};

/// Time that ranks waited while others moved, by who waited and who moved. `turns` are those of one link and
/// direction in the order in which they began.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> waits(const std::vector<Turn>& turns) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> sums;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Turn& waiting = turns[i];
    // Turns before it, from the latest back: what ended before it asked cannot have held it up, but one that
    // outlasted its lease lies across others.
    for (std::size_t back = 1; back <= std::min(i, kMostAcross); ++back) {
      const Turn& moving = turns[i - back];
      const std::int64_t from = std::max(waiting.asked_ns, moving.granted_ns);
      const std::int64_t to = std::min(waiting.granted_ns, moving.ended_ns);
      if (moving.rank != waiting.rank && to > from) sums[{waiting.rank, moving.rank}] += to - from;
    }
  }
  return sums;
}

}  // namespace

Table turns_table(const Scope& scope) {
  Table table("turns", "Turns that ranks took on shared links",
              {{"rank"},
               {"pid", Unit::kCount},
               {"gpu", Unit::kCount},
               {"gpus_on_link", Unit::kCount},
               {"asked", Unit::kCount},
               {"granted", Unit::kCount},
               {"used", Unit::kCount},
               {"ahead", Unit::kCount},
               {"expired", Unit::kCount},
               {"waited", Unit::kNanoseconds},
               {"each", Unit::kNanoseconds}});
  std::int64_t expired = 0;
  scope.select(
      "SELECT rank, pid, device_ordinal, gpus_on_link, asked, granted, used, ahead, expired, wait_ns FROM "
      "slot_use ORDER BY rank, pid, device_ordinal",
      [&](trace::Statement& row) {
        const auto count = [&row](int column) {
          std::optional<std::int64_t> value;
          row.get(column, value);
          return value;
        };
        const auto granted = count(5), waited = count(9);
        const auto rank = count(0);
        std::optional<double> each;
        if (granted && waited && *granted > 0)
          each = static_cast<double>(*waited) / static_cast<double>(*granted);
        expired += count(8).value_or(0);
        table.add(KnownBy::kMeasured,
                  {rank ? Cell(std::to_string(*rank)) : Cell("-"), row.integer(1), row.integer(2), count(3),
                   count(4), granted, count(6), count(7), count(8), waited, each});
      });
  if (expired > 0) {
    table.notes.push_back(
        fmt::format("{} turns outlasted their lease: transfers of two ranks ran side by side then", expired));
  }
  return table;
}

Table turn_waits_table(const Scope& scope) {
  Table table("turn_waits", "Who waited for whom on shared links",
              {{"link", Unit::kCount},
               {"direction"},
               {"rank_that_waited"},
               {"rank_that_moved"},
               {"waited", Unit::kNanoseconds},
               {"per_iteration", Unit::kNanoseconds}});
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Turn>> turns;  // by link and direction
  std::map<std::int64_t, std::set<std::int64_t>> iterations;                 // by rank
  scope.select(
      "SELECT link, direction, rank, asked_ns, granted_ns, ended_ns, iteration FROM slot WHERE rank IS NOT "
      "NULL "
      "ORDER BY granted_ns",
      [&](trace::Statement& row) {
        turns[{row.integer(0), row.integer(1)}].push_back(
            {row.integer(2), row.integer(3), row.integer(4), row.integer(5)});
        iterations[row.integer(2)].insert(row.integer(6));
      });
  for (const auto& [where, all] : turns) {
    for (const auto& [who, time] : waits(all)) {
      table.add(KnownBy::kMeasured,
                {where.first, where.second == 0 ? "to the GPU" : "from the GPU", std::to_string(who.first),
                 std::to_string(who.second), time,
                 static_cast<double>(time) / static_cast<double>(iterations.at(who.first).size())});
    }
  }
  scope.select("SELECT value FROM meta WHERE key = 'slots.missing'",
               [&](trace::Statement& row) { table.notes.push_back("missing: " + row.shown(0)); });
  return table;
}

}  // namespace tferry::cli
