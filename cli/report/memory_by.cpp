#include "cli/report/memory_by.hpp"

#include "cli/report/memory_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tferry::cli {
namespace {

struct AllocationName {
  std::string name, category;
};

std::map<std::int64_t, AllocationName> names_of(const Scope& scope) {
  std::map<std::int64_t, AllocationName> names;
  scope.select("SELECT allocation_id, name, coalesce(category, '') FROM allocation_name",
               [&](trace::Statement& row) { names[row.integer(0)] = {row.shown(1), row.shown(2)}; });
  return names;
}

std::string without_last(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(0, dot);
}

/// Of "layers.3.mlp.weight" and "layers.3.mlp.weight.exp_avg": what names a parameter or its state ends in
/// it.
std::string module_of(const AllocationName& name) {
  if (name.category == "weight" || name.category == "gradient") return without_last(name.name);
  if (name.category == "optimizer") return without_last(without_last(name.name));
  return name.category == "activation" || name.category == "workspace" ? name.name : "";
}

Table table_of(const Scope& scope, const MemoryProfile& profile, const std::vector<std::string>& groups,
               const std::map<std::int64_t, AllocationName>& names) {
  std::vector<Column> columns;
  for (const std::string& group : groups) columns.push_back({group});
  columns.push_back({"together", Unit::kBytes});
  columns.push_back({"number", Unit::kCount});
  columns.push_back({"of_peak", Unit::kShare});
  Table table("memory",
              fmt::format("Alive at the peak of GPU {}, by {}", scope.gpu_name(profile.device_id),
                          fmt::join(groups, " and ")),
              columns);
  std::map<std::vector<std::string>, std::pair<std::int64_t, std::int64_t>> sums;  // bytes, number
  std::int64_t unknown = 0;
  for (const LiveAllocation& allocation : profile.at_peak) {
    const auto name = names.find(allocation.id);
    std::vector<std::string> key;
    for (const std::string& group : groups) {
      if (name == names.end()) {
        key.emplace_back();
      } else {
        key.push_back(group == "category" ? name->second.category
                      : group == "module" ? module_of(name->second)
                                          : name->second.name);
      }
    }
    if (name == names.end()) unknown += allocation.bytes;
    auto& [bytes, number] = sums[key];
    bytes += allocation.bytes;
    ++number;
  }
  std::vector<std::pair<std::int64_t, const std::vector<std::string>*>> order;
  for (const auto& [key, sum] : sums) order.emplace_back(-sum.first, &key);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [minus_bytes, key] : order) {
    if (scope.top() > 0 && static_cast<std::int64_t>(table.rows.size()) >= scope.top()) break;
    std::vector<Cell> cells;
    for (const std::string& text : *key) cells.push_back(text.empty() ? Cell() : Cell(text));
    cells.emplace_back(-minus_bytes);
    cells.emplace_back(sums[*key].second);
    cells.emplace_back(static_cast<double>(-minus_bytes) /
                       static_cast<double>(std::max<std::int64_t>(1, profile.peak_bytes)));
    table.add(KnownBy::kMeasured, std::move(cells));
  }
  if (order.size() > table.rows.size())
    table.notes.push_back(fmt::format("{} more; --top 0 shows all", order.size() - table.rows.size()));
  if (unknown > 0) {
    table.notes.push_back(
        fmt::format("{} bytes have no name: tferry profile --names pytorch records them, NVTX ranges of the "
                    "program do; tferry analyze carries them over to later iterations",
                    unknown));
  }
  return table;
}

}  // namespace

const std::vector<std::string>& memory_groups() {
  static const std::vector<std::string> groups = {"category", "module", "name"};
  return groups;
}

std::vector<Table> report_memory_by(const Scope& scope, const std::vector<std::string>& groups) {
  const auto names = names_of(scope);
  std::vector<Table> tables;
  for (const MemoryProfile& profile : memory_profiles(scope))
    tables.push_back(table_of(scope, profile, groups, names));
  if (tables.empty()) {
    Table none("memory", "Alive at the peak", {{"category"}});
    none.notes.emplace_back("unknown: no allocations were recorded; see tferry report quality");
    tables.push_back(std::move(none));
  }
  return tables;
}

}  // namespace tferry::cli
