#include "cli/report/memory_by.hpp"

#include "cli/byte_size.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tferry::cli {
namespace {

std::string without_last(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(0, dot);
}

/// Of "layers.3.mlp.weight" and "layers.3.mlp.weight.exp_avg": what names a parameter or its state ends in
/// it.
std::string module_of(const AllocationFacts& facts) {
  if (facts.category == "weight" || facts.category == "gradient") return without_last(facts.name);
  if (facts.category == "optimizer") return without_last(without_last(facts.name));
  return facts.category == "activation" || facts.category == "workspace" ? facts.name : "";
}

std::vector<std::string> key_of(const AllocationFacts& facts, const std::vector<std::string>& groups) {
  std::vector<std::string> key;
  for (const std::string& group : groups)
    key.push_back(group == "category" ? facts.category : group == "module" ? module_of(facts) : facts.name);
  return key;
}

struct Sum {
  std::int64_t bytes = 0, number = 0;
};

/// What live allocations leave of the pages that they lie in, and of how many pages. Nothing where their
/// addresses are not known.
Sum unfilled_pages(const MemoryProfile& profile) {
  constexpr std::int64_t kPage = 2 << 20;  // of the driver
  std::vector<std::pair<std::int64_t, std::int64_t>> held;
  for (const LiveAllocation& allocation : profile.alive) {
    const bool sound = allocation.address > 0 && allocation.bytes >= 0 &&
                       allocation.bytes <= std::numeric_limits<std::int64_t>::max() - allocation.address;
    if (!sound) return {};
    held.emplace_back(allocation.address, allocation.address + allocation.bytes);
  }
  std::sort(held.begin(), held.end());
  std::map<std::int64_t, std::int64_t> used;  // bytes by page, of those that are not full
  std::int64_t before = 0;
  for (const auto& [begin, end] : held) {
    if (begin < before) return {};  // two at one address: these are none
    before = end;
    used[begin / kPage] += std::min(end, (begin / kPage + 1) * kPage) - begin;
    if (end / kPage > begin / kPage && end % kPage > 0) used[end / kPage] += end % kPage;
  }
  Sum unfilled;
  for (const auto& [page, bytes] : used) {
    unfilled.bytes += kPage - bytes;
    unfilled.number += bytes < kPage ? 1 : 0;
  }
  return unfilled;
}

class ByTable {
 public:
  ByTable(const MemoryProfile& profile, const std::vector<std::string>& groups, std::string title)
      : profile_(profile), groups_(groups.size()), table_("memory", std::move(title), {}) {
    for (const std::string& group : groups) table_.columns.push_back({group});
    table_.columns.push_back({"together", Unit::kBytes});
    table_.columns.push_back({"number", Unit::kCount});
    table_.columns.push_back({"share", Unit::kShare});
  }

  void add(KnownBy known_by, const std::vector<std::string>& key, const Sum& sum) {
    std::vector<Cell> cells(groups_, Cell("-"));
    for (std::size_t i = 0; i < key.size(); ++i) cells[i] = key[i].empty() ? Cell() : Cell(key[i]);
    cells.emplace_back(sum.bytes);
    cells.emplace_back(sum.number);
    cells.emplace_back(static_cast<double>(sum.bytes) /
                       static_cast<double>(std::max<std::int64_t>(1, profile_.peak_bytes)));
    table_.add(known_by, std::move(cells));
  }

  void add_unused(const Sum& rounding) {
    if (rounding.bytes > 0) add(KnownBy::kMeasured, {"unused: rounded up"}, rounding);
    const Sum pages = unfilled_pages(profile_);
    if (pages.bytes == 0) return;
    add(KnownBy::kAssumed, {"unused: fragments"}, pages);
    table_.notes.emplace_back(
        "fragments: what is left of pages of 2 MiB that allocations fill in part, beside the peak");
  }

  Table& table() { return table_; }

 private:
  const MemoryProfile& profile_;
  std::size_t groups_;
  Table table_;
};

}  // namespace

std::map<std::int64_t, AllocationFacts> allocation_facts(const Scope& scope) {
  std::map<std::int64_t, AllocationFacts> all;
  scope.select(
      "SELECT allocation_id, persistent, coalesce(tensor.name, ''), coalesce(category, '') FROM "
      "tensor_allocation JOIN tensor ON tensor.id = tensor_id",
      [&](trace::Statement& row) {
        all[row.integer(0)] = {"", row.shown(3), row.shown(2),
                               row.integer(1) != 0 ? "persistent" : "iteration"};
      });
  scope.select(
      "SELECT allocation_id, name, coalesce(category, '') FROM allocation_name ORDER BY source = 'pytorch'",
      [&](trace::Statement& row) {
        AllocationFacts& facts = all[row.integer(0)];
        facts.name = row.shown(1);
        if (const std::string category = row.shown(2); !category.empty()) facts.category = category;
      });
  return all;
}

const std::vector<std::string>& memory_groups() {
  static const std::vector<std::string> groups = {"category", "module", "name"};
  return groups;
}

Table memory_by_table(const Scope& scope, const MemoryProfile& profile,
                      const std::map<std::int64_t, AllocationFacts>& facts,
                      const std::vector<std::string>& groups) {
  ByTable by(profile, groups,
             fmt::format("Alive at {} of GPU {}, by {}", profile.moment, scope.gpu_name(profile.device_id),
                         fmt::join(groups, " and ")));
  std::map<std::vector<std::string>, Sum> sums;
  Sum rounding;
  std::int64_t unnamed = 0;
  for (const LiveAllocation& allocation : profile.alive) {
    const auto known = facts.find(allocation.id);
    const AllocationFacts& one = known == facts.end() ? AllocationFacts() : known->second;
    if (one.name.empty()) unnamed += allocation.asked;
    Sum& sum = sums[key_of(one, groups)];
    sum.bytes += allocation.asked;
    ++sum.number;
    rounding.bytes += allocation.bytes - allocation.asked;
    rounding.number += allocation.bytes > allocation.asked ? 1 : 0;
  }
  std::vector<std::pair<std::vector<std::string>, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  Table& table = by.table();
  for (const auto& [key, sum] : order) {
    if (scope.top() > 0 && static_cast<std::int64_t>(table.rows.size()) >= scope.top()) break;
    const bool known = std::any_of(key.begin(), key.end(), [](const auto& text) { return !text.empty(); });
    by.add(known ? KnownBy::kMeasured : KnownBy::kUnknown, key, sum);
  }
  if (order.size() > table.rows.size())
    table.notes.push_back(fmt::format("{} more; --top 0 shows all", order.size() - table.rows.size()));
  by.add_unused(rounding);
  if (unnamed > 0) {
    table.notes.push_back(
        fmt::format("{} have no name: tferry profile --names pytorch records them, NVTX ranges of the "
                    "program do; tferry analyze carries them over to later iterations",
                    format_bytes(unnamed)));
  }
  return std::move(table);
}

std::vector<Table> report_memory_by(const Scope& scope, const std::vector<std::string>& groups,
                                    const std::string& at) {
  std::optional<std::int64_t> at_ns;
  if (at != "peak") at_ns = scope.start_ns() + parse_duration(at, "--at");
  const auto facts = allocation_facts(scope);
  std::vector<Table> tables;
  for (MemoryProfile& profile : memory_profiles(scope, at_ns)) {
    if (at_ns) profile.moment = at;
    tables.push_back(memory_by_table(scope, profile, facts, groups));
  }
  if (tables.empty()) {
    Table none("memory", "Alive at the peak", {{"category"}});
    none.notes.emplace_back("unknown: no allocations were recorded; see tferry report quality");
    tables.push_back(std::move(none));
  }
  return tables;
}

}  // namespace tferry::cli
