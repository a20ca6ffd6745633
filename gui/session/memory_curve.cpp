#include "gui/session/memory_curve.hpp"

#include "gui/session/lane_counts.hpp"

#include <algorithm>
#include <utility>

namespace tferry::gui {
namespace {

/// Looking for last accesses takes a lookup for each: not in sessions where that takes seconds.
constexpr std::int64_t kMostAccesses = 400'000;

struct Change {
  std::int64_t time_ns;
  double live, dead, parked;
};

constexpr const char* kLastUses =
    "SELECT allocation.id, max(reserved_bytes, allocation.bytes), free_ns, max(coalesce(kernel.end_ns, "
    "memcpy.end_ns)) "
    "FROM "
    "allocation JOIN access ON access.allocation_id = allocation.id AND access.process_id = "
    "allocation.process_id "
    "LEFT JOIN kernel ON kernel.process_id = access.process_id AND kernel.operation = access.operation "
    "LEFT JOIN memcpy ON memcpy.process_id = access.process_id AND memcpy.operation = access.operation "
    "WHERE allocation.process_id = ? AND allocation.device_id = ? GROUP BY allocation.id";

}  // namespace

MemoryCurve::MemoryCurve(trace::Session& session, std::int64_t process_id, std::int64_t device_id,
                         const GpuTime& time, std::int64_t from_ns) {
  std::vector<Change> changes;
  std::vector<std::pair<std::int64_t, double>> live;  // in the program's order, in which the budget counts
  select(
      session,
      "SELECT max(reserved_bytes, bytes), alloc_ns, free_ns FROM allocation WHERE process_id = ? AND "
      "device_id = ? AND "
      "memory_kind IN (0, 3)",
      [&](trace::Statement& row) {
        const auto bytes = static_cast<double>(row.integer(0));
        changes.push_back({time.needed(row.integer(1)), bytes, 0, 0});
        live.emplace_back(row.integer(1), bytes);
        if (row.is_null(2)) return;
        changes.push_back({time.of(row.integer(2)), -bytes, 0, 0});
        live.emplace_back(row.integer(2), -bytes);
      },
      process_id, device_id);
  if (session.integer("SELECT count(*) FROM (SELECT 1 FROM access LIMIT " +
                      std::to_string(kMostAccesses + 1) + ")") <= kMostAccesses) {
    select(
        session, kLastUses,
        [&](trace::Statement& row) {
          if (row.is_null(3)) return;
          const std::int64_t used = row.integer(3), freed = row.is_null(2) ? 0 : time.of(row.integer(2));
          if (!row.is_null(2) && freed <= used) return;
          const auto bytes = static_cast<double>(row.integer(1));
          changes.push_back({used, 0, bytes, 0});
          if (!row.is_null(2)) changes.push_back({freed, 0, -bytes, 0});
        },
        process_id, device_id);
  }
  // A park or clean drop has freed memory on the card when it ends, a fetch takes it when it begins;
  // discarded contents come back with the next use.
  select(
      session,
      "SELECT swap.kind, swap.bytes, coalesce(iif(swap.kind = 2, memcpy.start_ns, memcpy.end_ns), submit_ns) "
      "FROM swap LEFT JOIN memcpy ON "
      "memcpy.id = "
      "memcpy_id "
      "WHERE swap.process_id = ? AND swap.device_id = ?",
      [&](trace::Statement& row) {
        const auto kind = static_cast<trace::TransferKind>(row.integer(0));
        const auto bytes = static_cast<double>(row.integer(1));
        const bool leaves = kind == trace::TransferKind::kPark || kind == trace::TransferKind::kCleanDrop;
        if (leaves || kind == trace::TransferKind::kFetch)
          changes.push_back({row.integer(2), 0, 0, leaves ? bytes : -bytes});
      },
      process_id, device_id);
  // Frees before allocations of the same moment: memory handed on counts once.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.live < b.live;
  });
  std::sort(live.begin(), live.end());
  double bytes = 0;
  for (const auto& [host_ns, change] : live) {
    bytes += change;
    if (bytes <= peak_bytes_ || time.needed(host_ns) < from_ns) continue;
    peak_bytes_ = bytes;
    peak_ns_ = time.needed(host_ns);
  }
  Step now{0, 0, 0, 0};
  for (const Change& change : changes) {
    now = {change.time_ns, now.live + change.live, now.dead + change.dead,
           std::max(0.0, now.parked + change.parked)};
    if (!steps_.empty() && (steps_.back().time_ns == now.time_ns || now.time_ns < from_ns)) {
      steps_.back() = now;
    } else {
      steps_.push_back(now);
    }
  }
}

std::vector<Sample> MemoryCurve::samples(TimeRange range, std::int64_t bucket_ns) const {
  std::vector<Sample> samples;
  auto step = std::upper_bound(steps_.begin(), steps_.end(), range.from_ns,
                               [](std::int64_t time, const Step& at) { return time < at.time_ns; });
  if (step != steps_.begin()) --step;
  for (; step != steps_.end() && step->time_ns < range.to_ns; ++step) {
    const auto next = step + 1;
    const std::int64_t end = next == steps_.end() ? std::max(range.to_ns, step->time_ns + 1) : next->time_ns;
    const double dead = std::min(step->dead, step->live), parked = std::min(step->parked, step->live);
    if (!samples.empty() && bucket_ns > 0 && end - step->time_ns < bucket_ns &&
        samples.back().start_ns / bucket_ns == step->time_ns / bucket_ns) {
      Sample& last = samples.back();
      last.end_ns = end;
      if (step->live > last.high) last = {last.start_ns, end, step->live, step->live, dead, parked};
      continue;
    }
    samples.push_back({step->time_ns, end, step->live, step->live, dead, parked});
  }
  return samples;
}

}  // namespace tferry::gui
