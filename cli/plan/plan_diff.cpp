#include "cli/plan/plan_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

namespace tferry::cli {
namespace {

/// A move as people know it.
using Move = std::pair<std::string, std::uint32_t>;  // tensor, leaves after

struct Moved {
  std::int64_t bytes = 0;
  std::uint32_t back_from = 0;  ///< the earliest of its parts
};

std::map<Move, Moved> moves_of(const analyzer::StoredPlan& stored) {
  std::map<Move, Moved> moves;
  for (const analyzer::PlanAction& action : stored.placed.plan.actions) {
    const std::string& name = stored.placed.workload.workload.tensors[action.tensor].name;
    const auto [place, first] = moves.try_emplace({name, action.leave_after});
    place->second.bytes += action.bytes;
    place->second.back_from =
        first ? action.return_from : std::min(place->second.back_from, action.return_from);
  }
  return moves;
}

std::int64_t bytes_of(const std::map<Move, Moved>& moves) {
  std::int64_t bytes = 0;
  for (const auto& [move, moved] : moves) bytes += moved.bytes;
  return bytes;
}

Table predictions(const analyzer::StoredPlan& one, const std::string& one_name,
                  const analyzer::StoredPlan& other, const std::string& other_name) {
  Table table("plan_diff", "Two plans",
              {{"plan"},
               {"planner"},
               {"budget", Unit::kBytes},
               {"time", Unit::kNanoseconds},
               {"bound", Unit::kNanoseconds},
               {"moves", Unit::kCount},
               {"leaves", Unit::kBytes}});
  for (const auto& [stored, name] : {std::pair(&one, &one_name), std::pair(&other, &other_name)}) {
    const trace::PlanRow& row = stored->row;
    const std::map<Move, Moved> moves = moves_of(*stored);
    table.add(KnownBy::kSimulated,
              {*name, row.planner, row.budget_bytes, row.predicted_ns ? Cell(*row.predicted_ns) : Cell(),
               row.bound_ns ? Cell(*row.bound_ns) : Cell(), static_cast<std::int64_t>(moves.size()),
               bytes_of(moves)});
  }
  return table;
}

Table differences(const std::map<Move, Moved>& one, const std::map<Move, Moved>& other) {
  Table table("plan_diff", "What they move otherwise, largest difference first",
              {{"tensor"},
               {"leaves_after", Unit::kCount},
               {"first", Unit::kBytes},
               {"second", Unit::kBytes},
               {"back_from_first", Unit::kCount},
               {"back_from_second", Unit::kCount}});
  std::map<Move, std::pair<std::optional<Moved>, std::optional<Moved>>> both;
  for (const auto& [move, moved] : one) both[move].first = moved;
  for (const auto& [move, moved] : other) both[move].second = moved;
  struct Difference {
    std::int64_t bytes;
    const Move* move;
    std::optional<Moved> first, second;
  };
  std::vector<Difference> rows;
  std::size_t same = 0;
  for (const auto& [move, pair] : both) {
    const auto& [first, second] = pair;
    const std::int64_t a = first ? first->bytes : 0, b = second ? second->bytes : 0;
    const bool equal = first && second && a == b && first->back_from == second->back_from;
    same += equal;
    if (!equal) rows.push_back({std::abs(a - b), &move, first, second});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Difference& a, const Difference& b) { return a.bytes > b.bytes; });
  for (const Difference& row : rows) {
    const auto bytes = [](const std::optional<Moved>& moved) {
      return moved ? Cell(moved->bytes) : Cell("stays");
    };
    const auto back = [](const std::optional<Moved>& moved) {
      return moved ? Cell(std::int64_t{moved->back_from}) : Cell("-");
    };
    table.add(KnownBy::kSimulated, {row.move->first, std::int64_t{row.move->second}, bytes(row.first),
                                    bytes(row.second), back(row.first), back(row.second)});
  }
  table.notes.push_back(fmt::format("{} moves are the same in both", same));
  return table;
}

}  // namespace

std::vector<Table> plan_diff(const analyzer::StoredPlan& one, const std::string& one_name,
                             const analyzer::StoredPlan& other, const std::string& other_name) {
  return {predictions(one, one_name, other, other_name), differences(moves_of(one), moves_of(other))};
}

}  // namespace tferry::cli
