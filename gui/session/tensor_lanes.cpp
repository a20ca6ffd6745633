#include "gui/session/tensor_lanes.hpp"

#include "gui/session/lane_counts.hpp"
#include "gui/time/time_text.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace tferry::gui {
namespace {

/// One park or fetch of an allocation.
struct Move {
  bool leaves = false;
  std::int64_t start_ns = 0, end_ns = 0;
};

Item piece(const Lane& lane, std::int64_t allocation, TensorTone tone, std::int64_t from, std::int64_t to) {
  Item item;
  item.table = EventTable::kAllocation;
  item.id = allocation;
  item.tone = static_cast<std::uint8_t>(tone);
  item.start_ns = from;
  item.end_ns = to;
  item.bytes = static_cast<std::int64_t>(lane.capacity);
  return item;
}

/// Of one allocation, in order: on the card, parked, on the card again.
void add_life(const Lane& lane, std::int64_t allocation, TimeRange life, const std::vector<Move>& moves,
              std::vector<Item>& items) {
  std::int64_t since = life.from_ns;
  bool on_card = true;
  for (const Move& move : moves) {
    if (move.leaves != on_card) continue;  // further pieces of the same movement
    const std::int64_t until = move.leaves ? move.end_ns : move.start_ns;
    if (until > since)
      items.push_back(
          piece(lane, allocation, on_card ? TensorTone::kAlive : TensorTone::kParked, since, until));
    since = std::max(since, until);
    on_card = !on_card;
  }
  if (life.to_ns > since)
    items.push_back(
        piece(lane, allocation, on_card ? TensorTone::kAlive : TensorTone::kParked, since, life.to_ns));
}

std::vector<Move> moves_of(trace::Session& session, std::int64_t allocation) {
  std::vector<Move> moves;
  select(
      session,
      "SELECT swap.kind, coalesce(memcpy.start_ns, submit_ns) AS s, coalesce(memcpy.end_ns, submit_ns) FROM "
      "swap LEFT "
      "JOIN memcpy ON memcpy.id = memcpy_id WHERE allocation_id = ? ORDER BY s",
      [&](trace::Statement& row) {
        const auto kind = static_cast<trace::TransferKind>(row.integer(0));
        const bool leaves = kind == trace::TransferKind::kPark || kind == trace::TransferKind::kCleanDrop;
        if (leaves || kind == trace::TransferKind::kFetch)
          moves.push_back({leaves, row.integer(1), row.integer(2)});
      },
      allocation);
  return moves;
}

struct ProgramName {
  QString name, category;
};

/// What the program calls tensors, by tensor; PyTorch's names go before those of ranges.
std::map<std::int64_t, ProgramName> names_of_program(trace::Session& session) {
  std::map<std::int64_t, ProgramName> names;
  select(session,
         "SELECT tensor_id, name, coalesce(category, '') FROM allocation_name JOIN tensor_allocation USING "
         "(allocation_id) ORDER BY source = 'pytorch'",
         [&](trace::Statement& row) {
           names[row.integer(0)] = {QString::fromStdString(row.shown(1)),
                                    QString::fromStdString(row.shown(2))};
         });
  return names;
}

}  // namespace

std::vector<Lane> tensor_lanes(trace::Session& session) {
  std::vector<Lane> lanes;
  const std::map<std::int64_t, ProgramName> program_names = names_of_program(session);
  select(
      session,
      "SELECT id, process_id, device_id, bytes, coalesce(name, ''), coalesce(category, ''), first_ns, "
      "last_ns FROM (SELECT "
      "tensor.*, (SELECT min(alloc_ns) FROM tensor_allocation JOIN allocation ON allocation.id = "
      "allocation_id WHERE "
      "tensor_id = tensor.id) AS first_ns, (SELECT max(coalesce(free_ns, alloc_ns)) FROM tensor_allocation "
      "JOIN allocation "
      "ON allocation.id = allocation_id WHERE tensor_id = tensor.id) AS last_ns, row_number() OVER "
      "(PARTITION BY "
      "process_id, device_id ORDER BY bytes DESC, id) AS place FROM tensor) WHERE place <= ? AND first_ns IS "
      "NOT NULL",
      [&](trace::Statement& row) {
        Lane lane;
        lane.kind = LaneKind::kTensor;
        lane.key = row.integer(0);
        lane.process_id = row.integer(1);
        lane.device_id = row.integer(2);
        lane.capacity = static_cast<double>(row.integer(3));
        lane.count = 1;
        lane.rows = 2;
        lane.first_ns = row.integer(6);
        lane.last_ns = row.integer(7);
        lane.longest_ns = lane.last_ns - lane.first_ns;
        lane.name = QString::fromStdString(row.shown(4));
        QString name = lane.name, category = QString::fromStdString(row.shown(5));
        if (const auto known = program_names.find(lane.key); known != program_names.end()) {
          name = known->second.name;
          if (!known->second.category.isEmpty()) category = known->second.category;
        }
        lane.title = (name.isEmpty() ? QStringLiteral("Tensor %1").arg(lane.key) : name) +
                     QStringLiteral("   ") + bytes_text(lane.capacity);
        lane.hint = (name == lane.name ? QString() : lane.name + QStringLiteral("\n")) +
                    (category.isEmpty() ? QString() : category + QStringLiteral(". ")) +
                    QStringLiteral(
                        "Blue: on the card; hatched: parked; below: kernels that use it. X tells why "
                        "a plan moves it or lets it stay.");
        lanes.push_back(std::move(lane));
      },
      kMostTensorLanes);
  return lanes;
}

FoundEvent next_use(trace::Session& session, const Lane& lane, int index, std::int64_t time, int step) {
  FoundEvent found;
  const std::string order =
      step > 0 ? "> ? ORDER BY kernel.start_ns LIMIT 1" : "< ? ORDER BY kernel.start_ns DESC LIMIT 1";
  std::string sql =
      "SELECT kernel.id, kernel.start_ns, coalesce(kernel.end_ns, kernel.start_ns), kernel.name_id FROM "
      "tensor_allocation JOIN access ON access.allocation_id = tensor_allocation.allocation_id JOIN kernel "
      "ON "
      "kernel.process_id = access.process_id AND kernel.operation = access.operation WHERE tensor_id = ? AND "
      "kernel.start_ns ";
  sql += order;
  select(
      session, sql,
      [&](trace::Statement& row) {
        found = {
            {EventTable::kKernel, row.integer(0)}, index, {row.integer(1), row.integer(2)}, row.integer(3)};
      },
      lane.key, time);
  return found;
}

void read_tensor(trace::Session& session, const Lane& lane, const GpuTime& time, TimeRange range,
                 std::int64_t session_end_ns, const std::function<void(const Item&)>& add) {
  std::vector<Item> items;
  select(
      session,
      "SELECT allocation.id, alloc_ns, free_ns FROM tensor_allocation JOIN allocation ON allocation.id = "
      "allocation_id "
      "WHERE tensor_id = ? AND alloc_ns < ? AND coalesce(free_ns, ?) > ? GROUP BY allocation.id",
      [&](trace::Statement& row) {
        const std::int64_t begin = time.needed(row.integer(1));
        const std::int64_t end = row.is_null(2) ? std::max(session_end_ns, begin) : time.of(row.integer(2));
        add_life(lane, row.integer(0), {begin, end}, moves_of(session, row.integer(0)), items);
      },
      lane.key, range.to_ns, std::numeric_limits<std::int64_t>::max(), time.called_after(range.from_ns));
  select(
      session,
      "SELECT DISTINCT kernel.id, kernel.start_ns, kernel.end_ns, kernel.name_id FROM tensor_allocation JOIN "
      "access ON "
      "access.allocation_id = tensor_allocation.allocation_id JOIN kernel ON kernel.process_id = "
      "access.process_id AND "
      "kernel.operation = access.operation WHERE tensor_id = ? AND kernel.start_ns < ? AND kernel.end_ns > ?",
      [&](trace::Statement& row) {
        Item item = piece(lane, row.integer(0), TensorTone::kUsed, row.integer(1), row.integer(2));
        item.table = EventTable::kKernel;
        item.name_id = row.integer(3);
        item.row = 1;
        items.push_back(item);
      },
      lane.key, range.to_ns, range.from_ns);
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.start_ns < b.start_ns; });
  for (const Item& item : items) add(item);
}

}  // namespace tferry::gui
