#include "cli/report/memory_profile.hpp"
#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace tferry::cli {
namespace {

/// What is known of an allocation besides its size.
struct Known {
  std::string name, category;  ///< empty: unknown
  std::string life = "unknown";
};

/// Names that the program gave (table allocation_name) go before those of the analysis, PyTorch's before
/// NVTX's.
std::map<std::int64_t, Known> known_allocations(const Scope& scope) {
  std::map<std::int64_t, Known> known;
  scope.select(
      "SELECT allocation_id, persistent, coalesce(tensor.name, ''), coalesce(category, '') FROM "
      "tensor_allocation "
      "JOIN tensor ON tensor.id = tensor_id",
      [&](trace::Statement& row) {
        known[row.integer(0)] = {row.shown(2), row.shown(3),
                                 row.integer(1) != 0 ? "persistent" : "iteration"};
      });
  scope.select(
      "SELECT allocation_id, name, coalesce(category, '') FROM allocation_name ORDER BY source = 'pytorch'",
      [&](trace::Statement& row) {
        Known& one = known[row.integer(0)];
        one.name = row.shown(1);
        if (const std::string category = row.shown(2); !category.empty()) one.category = category;
      });
  return known;
}

constexpr const char* kWhoNames =
    "unknown categories: tferry profile --names pytorch records them for PyTorch, NVTX ranges name the rest";

/// The same, summed up by category, largest first.
Table category_table(const Scope& scope, const MemoryProfile& profile,
                     const std::map<std::int64_t, Known>& known) {
  Table table(
      "memory", fmt::format("Alive at the peak of GPU {}, by category", scope.gpu_name(profile.device_id)),
      {{"category"}, {"number", Unit::kCount}, {"together", Unit::kBytes}, {"of_the_peak", Unit::kShare}});
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> categories;
  for (const LiveAllocation& allocation : profile.at_peak) {
    const auto one = known.find(allocation.id);
    const bool is_known = one != known.end() && !one->second.category.empty();
    auto& [number, bytes] = categories[is_known ? one->second.category : "unknown"];
    ++number;
    bytes += allocation.bytes;
  }
  std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> order(categories.begin(),
                                                                                   categories.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.second > b.second.second; });
  for (const auto& [category, sum] : order) {
    const double share = profile.peak_bytes > 0
                             ? static_cast<double>(sum.second) / static_cast<double>(profile.peak_bytes)
                             : 0;
    table.add(category == "unknown" ? KnownBy::kUnknown : KnownBy::kMeasured,
              {category, sum.first, sum.second, share});
  }
  if (categories.contains("unknown")) table.notes.emplace_back(kWhoNames);
  return table;
}

/// Tensors of the allocations that are alive at the peak, by size, life, category and name.
Table peak_table(const Scope& scope, const MemoryProfile& profile,
                 const std::map<std::int64_t, Known>& known) {
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
  for (const LiveAllocation& allocation : profile.at_peak) {
    const auto one = known.find(allocation.id);
    const Known& what = one == known.end() ? Known() : one->second;
    lives_known = lives_known || what.life != "unknown";
    ++groups[{allocation.bytes, what.life, allocation.movable, what.category, what.name}];
  }
  std::vector<std::pair<std::int64_t, const std::pair<const Key, std::int64_t>*>> order;
  for (const auto& group : groups) order.emplace_back(-std::get<0>(group.first) * group.second, &group);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [together, group] : order) {
    if (scope.top() > 0 && static_cast<std::int64_t>(table.rows.size()) >= scope.top()) break;
    const auto& [bytes, life, movable, category, name] = group->first;
    table.add(KnownBy::kMeasured, {bytes, group->second, -together, life == "unknown" ? Cell() : Cell(life),
                                   movable ? "yes" : "no", category.empty() ? Cell() : Cell(category),
                                   name.empty() ? Cell("-") : Cell(name)});
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
  const std::map<std::int64_t, Known> known = known_allocations(scope);
  for (const MemoryProfile& profile : memory_profiles(scope)) {
    const auto device = scope.session().first<trace::DeviceRow>("WHERE id = ?", profile.device_id);
    Cell budget("none");
    if (device && device->budget_bytes) budget = Cell(*device->budget_bytes);
    tables.front().add(KnownBy::kMeasured,
                       {profile.pid, scope.gpu_name(profile.device_id), profile.peak_bytes,
                        profile.peak_ns - scope.start_ns(), static_cast<std::int64_t>(profile.at_peak.size()),
                        profile.movable_at_peak, profile.allocations, profile.never_freed_bytes, budget});
    tables.push_back(category_table(scope, profile, known));
    tables.push_back(peak_table(scope, profile, known));
  }
  if (tables.front().rows.empty()) {
    tables.front().notes.emplace_back(
        "unknown: no allocations were recorded; profile without --no-preload, and see tferry report quality");
  }
  return tables;
}

}  // namespace tferry::cli
