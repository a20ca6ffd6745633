#include "cli/report/memory_by.hpp"
#include "cli/report/pools_table.hpp"
#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tferry::cli {
namespace {

/// Tensors of the allocations that are alive at the peak, by size, life, category and name.
Table peak_table(const Scope& scope, const MemoryProfile& profile,
                 const std::map<std::int64_t, AllocationFacts>& facts) {
  Table table("memory",
              fmt::format("Alive at the peak of GPU {}, by size", scope.gpu_name(profile.device_id)),
              {{"each", Unit::kBytes},
               {"number", Unit::kCount},
               {"together", Unit::kBytes},
               {"life"},
               {"movable"},
               {"category"},
               {"name"}});
  using Key = std::tuple<std::int64_t, std::string, bool, std::string, std::string>;
  std::map<Key, std::int64_t> groups;
  bool lives_known = false;
  for (const LiveAllocation& allocation : profile.alive) {
    const auto known = facts.find(allocation.id);
    const AllocationFacts& one = known == facts.end() ? AllocationFacts() : known->second;
    lives_known = lives_known || !one.life.empty();
    ++groups[{allocation.bytes, one.life, allocation.movable, one.category,
              one.name.empty() ? one.tensor : one.name}];
  }
  std::vector<std::pair<std::int64_t, const std::pair<const Key, std::int64_t>*>> order;
  for (const auto& group : groups) order.emplace_back(-std::get<0>(group.first) * group.second, &group);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [together, group] : order) {
    if (scope.top() > 0 && static_cast<std::int64_t>(table.rows.size()) >= scope.top()) break;
    const auto& [bytes, life, movable, category, name] = group->first;
    table.add(KnownBy::kMeasured,
              {bytes, group->second, -together, life.empty() ? Cell() : Cell(life), movable ? "yes" : "no",
               category.empty() ? Cell() : Cell(category), name.empty() ? Cell("-") : Cell(name)});
  }
  if (order.size() > table.rows.size()) {
    table.notes.push_back(fmt::format("{} more sizes; --top 0 shows all", order.size() - table.rows.size()));
  }
  if (!lives_known) table.notes.emplace_back("life is unknown until tferry analyze has matched tensors");
  return table;
}

}  // namespace

std::vector<Table> report_memory(const Scope& scope) {
  Table facts("memory", "GPU memory that the program allocated",
              {{"process"},
               {"gpu"},
               {"peak", Unit::kBytes},
               {"peak_after", Unit::kNanoseconds},
               {"alive_at_peak", Unit::kCount},
               {"movable_at_peak", Unit::kBytes},
               {"allocations", Unit::kCount},
               {"never_freed", Unit::kBytes},
               {"budget", Unit::kBytes}});
  std::vector<Table> tables = {facts};
  const std::map<std::int64_t, AllocationFacts> known = allocation_facts(scope);
  for (const MemoryProfile& profile : memory_profiles(scope)) {
    const auto device = scope.session().first<trace::DeviceRow>("WHERE id = ?", profile.device_id);
    Cell budget("none");
    if (device && device->budget_bytes) budget = Cell(*device->budget_bytes);
    tables.front().add(KnownBy::kMeasured,
                       {profile.pid, scope.gpu_name(profile.device_id), profile.peak_bytes,
                        profile.peak_ns - scope.start_ns(), static_cast<std::int64_t>(profile.alive.size()),
                        profile.movable_at_peak, profile.allocations, profile.never_freed_bytes, budget});
    tables.push_back(memory_by_table(scope, profile, known, {"category"}));
    tables.push_back(peak_table(scope, profile, known));
  }
  if (tables.front().rows.empty()) {
    tables.front().notes.emplace_back(
        "unknown: no allocations were recorded; profile without --no-preload, and see tferry report quality");
  }
  if (auto pools = pools_table(scope)) tables.push_back(std::move(*pools));
  return tables;
}

}  // namespace tferry::cli
