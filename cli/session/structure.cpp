#include "cli/session/structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tferry::cli {
namespace {

/// In an order of their own: calls by number, others by start.
struct Item {
  std::int64_t operation = -1, start_ns = 0;
  std::string text;
};

class StructureReader {
 public:
  StructureReader(trace::Session& session, std::int64_t process, std::int64_t device)
      : session_(session), process_(process), device_(device) {}

  Structure read() {
    for (const auto& row : session_.rows<trace::KernelRow>(kWhere, process_, device_)) {
      if (row.graph_id && row.operation) continue;  // the graph's launch stands for its nodes
      add(row, fmt::format("kernel {} grid {}x{}x{} block {}x{}x{}", session_.string(row.name_id), row.grid_x,
                           row.grid_y, row.grid_z, row.block_x, row.block_y, row.block_z));
    }
    for (const auto& row : session_.rows<trace::MemcpyRow>(kWhere, process_, device_)) {
      if (row.graph_id && row.operation) continue;
      add(row,
          fmt::format("memcpy {} {}", session_.label("copy_kind", static_cast<int>(row.kind)), row.bytes));
    }
    for (const auto& row : session_.rows<trace::MemsetRow>(kWhere, process_, device_)) {
      if (row.graph_id && row.operation) continue;
      add(row, fmt::format("memset {}", row.bytes));
    }
    for (const auto& row : session_.rows<trace::GraphLaunchRow>(
             "WHERE process_id = ? AND (device_id = ? OR device_id IS NULL)", process_, device_)) {
      items_.push_back({row.operation, row.call_ns, "graph launch"});
      hooked_ = true;
    }
    Structure structure;
    // With hooks, what no call asked for (a library's own work) has no place in the order.
    if (hooked_) std::erase_if(items_, [](const Item& item) { return item.operation < 0; });
    std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::tie(a.operation, a.start_ns) < std::tie(b.operation, b.start_ns);
    });
    for (Item& item : items_) structure.operations.push_back(std::move(item.text));
    for (const auto& row : session_.rows<trace::AllocationRow>(
             "WHERE process_id = ? AND device_id = ? ORDER BY allocation", process_, device_)) {
      structure.allocations.push_back(
          fmt::format("{} {} {}", row.bytes, session_.label("memory_kind", static_cast<int>(row.memory_kind)),
                      session_.label("allocation_api", static_cast<int>(row.api))));
    }
    return structure;
  }

 private:
  static constexpr const char* kWhere =
      "WHERE process_id = ? AND (device_id = ? OR device_id IS NULL) AND owner <> 2";

  template <typename Row>
  void add(const Row& row, std::string text) {
    items_.push_back({row.operation.value_or(-1), row.start_ns.value_or(0), std::move(text)});
    hooked_ = hooked_ || row.operation.has_value();
  }

  trace::Session& session_;
  std::int64_t process_, device_;
  std::vector<Item> items_;
  bool hooked_ = false;
};

}  // namespace

std::vector<Structure> read_structures(trace::Session& session) {
  std::set<std::pair<std::int64_t, std::int64_t>> used;
  try {
    trace::Statement statement(
        session.database(),
        "SELECT process_id, device_id FROM kernel WHERE device_id IS NOT NULL UNION SELECT "
        "process_id, device_id FROM memcpy WHERE device_id IS NOT NULL UNION SELECT process_id, "
        "device_id FROM allocation WHERE device_id IS NOT NULL");
    while (statement.step()) used.emplace(statement.integer(0), statement.integer(1));
  } catch (const trace::SqliteError& error) {
    throw trace::session_error(session.path(), error);
  }
  std::vector<Structure> structures;
  std::int64_t number = 0;
  for (const auto& process : session.rows<trace::ProcessRow>("ORDER BY coalesce(rank, -1), start_ns, id")) {
    std::int64_t gpu = 0;
    for (const auto& [process_id, device_id] : used) {
      if (process_id != process.id) continue;
      Structure structure = StructureReader(session, process_id, device_id).read();
      structure.label = fmt::format("{} {}, GPU {}", process.rank ? "rank" : "process",
                                    process.rank.value_or(number), gpu++);
      structures.push_back(std::move(structure));
    }
    if (gpu > 0) ++number;
  }
  return structures;
}

SequenceDifference compare_sequences(const std::vector<std::string>& left,
                                     const std::vector<std::string>& right) {
  SequenceDifference difference;
  difference.left = static_cast<std::int64_t>(left.size());
  difference.right = static_cast<std::int64_t>(right.size());
  const auto [a, b] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  if (a == left.end() && b == right.end()) return difference;
  difference.first = a - left.begin();
  if (a != left.end()) difference.left_item = *a;
  if (b != right.end()) difference.right_item = *b;
  return difference;
}

}  // namespace tferry::cli
