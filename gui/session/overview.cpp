#include "gui/session/overview.hpp"

#include "gui/session/lane_counts.hpp"
#include "gui/session/lane_titles.hpp"
#include "gui/session/migrations.hpp"
#include "gui/session/moves_lane.hpp"
#include "gui/session/tensor_lanes.hpp"
#include "gui/session/warnings.hpp"
#include "gui/time/time_text.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

namespace tferry::gui {
namespace {

/// Finding out how deep ranges are nested takes reading all of them; beyond that they share one row.
constexpr std::int64_t kMostNestedMarkers = 100'000;

using ProcessDevice = std::pair<std::int64_t, std::int64_t>;

/// Order of lanes within a group, top to bottom.
int place_of(const Lane& lane) {
  switch (lane.kind) {
    case LaneKind::kIterations:
      return 0;
    case LaneKind::kMarkers:
      return 1;
    case LaneKind::kStream:
      return lane.owner == 2 ? 8 : 2;
    case LaneKind::kSyncs:
      return 3;
    case LaneKind::kGates:
      return 4;
    case LaneKind::kPlan:
      return 5;
    case LaneKind::kMoves:
      return 6;
    case LaneKind::kCopies:
      return 9;
    case LaneKind::kMigrations:
      return 10;
    case LaneKind::kContention:
      return 11;
    case LaneKind::kCounter:
      return lane.owner == 1 ? 12 : lane.owner == 2 ? 13 : 14;
    case LaneKind::kMemory:
      return 15;
    case LaneKind::kTensor:
      return 16;
  }
  return 17;
}

LaneKind kind_of(EventTable table) {
  switch (table) {
    case EventTable::kKernel:
    case EventTable::kMemset:
      return LaneKind::kStream;
    case EventTable::kMemcpy:
      return LaneKind::kCopies;
    case EventTable::kMarker:
      return LaneKind::kMarkers;
    case EventTable::kSync:
      return LaneKind::kSyncs;
    case EventTable::kGate:
      return LaneKind::kGates;
    case EventTable::kSwap:
      return LaneKind::kMoves;
    case EventTable::kUmEvent:
      return LaneKind::kMigrations;
    case EventTable::kIteration:
      return LaneKind::kIterations;
    case EventTable::kContention:
      return LaneKind::kContention;
    case EventTable::kPlanAction:
      return LaneKind::kPlan;
    case EventTable::kCounter:
      return LaneKind::kCounter;
    case EventTable::kAllocation:
      return LaneKind::kMemory;
  }
  return LaneKind::kStream;
}

/// Nesting of the ranges of a thread, over all of them.
int depth_of_markers(trace::Session& session, std::int64_t process, std::int64_t thread) {
  std::vector<std::int64_t> open;
  std::size_t deepest = 1;
  select(
      session,
      "SELECT start_ns, coalesce(end_ns, start_ns) FROM marker WHERE process_id = ? AND thread IS ? ORDER BY "
      "start_ns, end_ns DESC",
      [&](trace::Statement& row) {
        while (!open.empty() && open.back() <= row.integer(0)) open.pop_back();
        open.push_back(row.integer(1));
        deepest = std::max(deepest, open.size());
      },
      process, thread);
  return static_cast<int>(std::min<std::size_t>(deepest, 12));
}

class Builder {
 public:
  Builder(trace::Session& session, const NameBook& names, const std::function<void(double)>& step)
      : session_(session), names_(names), step_(step) {}

  Overview make() {
    overview_.path = QString::fromStdString(session_.path());
    overview_.analyzed = session_.meta("analysis.created").has_value();
    const auto counted = [this](double share) { told(kCounting * share); };
    for (const LaneCount& count : count_lanes(session_, counted)) add(count);
    told(kCounting);
    add_plan();
    for (Lane& lane : tensor_lanes(session_)) overview_.lanes.push_back(std::move(lane));
    told(0.95);
    find_range();
    group();
    overview_.origin_ns = session_.integer("SELECT coalesce(min(start_ns), 0) FROM process");
    overview_.headline = headline(session_);
    overview_.warnings = find_warnings(session_, overview_.analyzed);
    return std::move(overview_);
  }

 private:
  static constexpr double kCounting = 0.8;  // of the time, about

  void told(double share) const {
    if (step_) step_(share);
  }

  void add(const LaneCount& count) {
    if (count.count == 0) return;
    const bool derived = count.table == EventTable::kIteration || count.table == EventTable::kContention;
    overview_.events += derived ? 0 : count.count;
    Lane lane;
    lane.kind = kind_of(count.table);
    lane.process_id = count.process_id;
    lane.device_id = count.device_id;
    lane.key = count.key;
    lane.owner = count.owner;
    overview_.has_detail = overview_.has_detail || count.detail_lane != 0;
    if (lane.kind == LaneKind::kCounter && !is_traffic(names_.full(lane.key))) return;
    if (count.detail_lane != 0)
      lane.detail.push_back(
          {count.detail_lane, count.finest, std::max(count.finest, count.coarsest), count.table});
    for (Lane& other : overview_.lanes) {  // memsets share the lane of their stream's kernels
      if (lane.kind != LaneKind::kStream || other.kind != lane.kind || other.key != lane.key ||
          other.process_id != lane.process_id || other.device_id != lane.device_id)
        continue;
      other.count += count.count;
      other.first_ns = std::min(other.first_ns, count.first_ns);
      other.last_ns = std::max(other.last_ns, count.last_ns);
      other.longest_ns = std::max(other.longest_ns, count.longest_ns);
      other.detail.insert(other.detail.end(), lane.detail.begin(), lane.detail.end());
      return;
    }
    lane.count = count.count;
    lane.first_ns = count.first_ns;
    lane.last_ns = count.last_ns;
    lane.longest_ns = count.longest_ns;
    const bool few = lane.count <= kMostNestedMarkers;
    if (lane.kind == LaneKind::kMoves) lane.rows = kMoveRows;
    if (lane.kind == LaneKind::kMigrations && lane.device_id != 0) lane.rows = kMigrationRows;
    if (lane.kind == LaneKind::kMarkers && few)
      lane.rows = depth_of_markers(session_, lane.process_id, lane.key);
    title(session_, names_, lane);
    overview_.lanes.push_back(std::move(lane));
  }

  /// What the newest plan of a process wanted, in the iterations that are there.
  void add_plan() {
    select(
        session_,
        "SELECT plan.process_id, plan.device_id, max(plan.id), (SELECT count(*) FROM plan_action WHERE "
        "plan_id = plan.id), (SELECT min(start_ns) FROM iteration WHERE process_id = "
        "plan.process_id), (SELECT max(end_ns) FROM iteration WHERE process_id = plan.process_id), (SELECT "
        "max(end_ns - start_ns) FROM iteration WHERE process_id = plan.process_id) FROM plan GROUP BY 1, 2",
        [&](trace::Statement& row) {
          if (row.integer(3) == 0 || row.is_null(4)) return;
          Lane lane;
          lane.kind = LaneKind::kPlan;
          lane.process_id = row.integer(0);
          lane.device_id = row.integer(1);
          lane.key = row.integer(2);
          lane.count = row.integer(3);
          lane.first_ns = row.integer(4);
          lane.last_ns = row.integer(5);
          lane.longest_ns = row.integer(6);  // a movement may end in the next iteration
          lane.rows = kMoveRows;
          title(session_, names_, lane);
          overview_.lanes.push_back(std::move(lane));
        });
  }

  /// From the first to the last thing that the job did; counters are sampled for longer.
  void find_range() {
    TimeRange job{std::numeric_limits<std::int64_t>::max(), 0}, all = job;
    for (const Lane& lane : overview_.lanes) {
      for (TimeRange* range : {&all, lane.kind == LaneKind::kCounter ? &all : &job}) {
        range->from_ns = std::min(range->from_ns, lane.first_ns);
        range->to_ns = std::max(range->to_ns, lane.last_ns);
      }
    }
    if (job.to_ns <= job.from_ns) job = all;
    if (job.to_ns <= job.from_ns) job = {0, 1};
    overview_.range = overview_.shown_first = job;
    show_recorded();
  }

  /// Of a job that was recorded in part, allocations are known from its beginning.
  void show_recorded() {
    const TimeRange all = overview_.range;
    select(
        session_, "SELECT min(start_ns), max(coalesce(end_ns, ?)) FROM recorded_range",
        [&](trace::Statement& row) {
          if (row.is_null(0)) return;
          const TimeRange recorded{row.integer(0), row.integer(1)};
          const std::int64_t margin = recorded.length() / 50;
          const TimeRange shown{std::max(all.from_ns, recorded.from_ns - margin),
                                std::min(all.to_ns, recorded.to_ns + margin)};
          if (shown.length() > 0) overview_.shown_first = shown;
          if (session_.meta("recorded_by") == "tferry run --plan") overview_.moves_from_ns = recorded.from_ns;
        },
        all.to_ns);
  }

  void group() {
    std::map<ProcessDevice, std::vector<int>> groups;
    std::map<std::int64_t, ProcessDevice> first_of_device, first_of_process;
    for (const Lane& lane : overview_.lanes) {
      if (lane.process_id == 0 || lane.device_id == 0) continue;
      const ProcessDevice pair{lane.process_id, lane.device_id};
      groups.try_emplace(pair);
      first_of_device.try_emplace(lane.device_id, pair);
      first_of_process.try_emplace(lane.process_id, pair);
    }
    for (int i = 0; i < static_cast<int>(overview_.lanes.size()); ++i) {
      const Lane& lane = overview_.lanes[static_cast<std::size_t>(i)];
      ProcessDevice pair{lane.process_id, lane.device_id};
      if (const auto of = first_of_device.find(lane.device_id);
          lane.process_id == 0 && of != first_of_device.end())
        pair = of->second;
      if (const auto of = first_of_process.find(lane.process_id);
          lane.device_id == 0 && of != first_of_process.end())
        pair = of->second;
      groups[pair].push_back(i);
    }
    // By GPU, as people number them, whichever process was started first.
    std::vector<std::pair<ProcessDevice, std::vector<int>>> by_gpu(groups.begin(), groups.end());
    std::stable_sort(by_gpu.begin(), by_gpu.end(),
                     [](const auto& a, const auto& b) { return a.first.second < b.first.second; });
    for (auto& [pair, lanes] : by_gpu) {
      std::stable_sort(lanes.begin(), lanes.end(), [this](int a, int b) {
        return place_of(overview_.lanes[static_cast<std::size_t>(a)]) <
               place_of(overview_.lanes[static_cast<std::size_t>(b)]);
      });
      // Tensors are a group of their own, which is folded at first.
      const auto tensors = std::stable_partition(lanes.begin(), lanes.end(), [this](int lane) {
        return overview_.lanes[static_cast<std::size_t>(lane)].kind != LaneKind::kTensor;
      });
      const std::vector<int> lives(tensors, lanes.end());
      lanes.erase(tensors, lanes.end());
      overview_.groups.push_back({group_title(session_, pair.first, pair.second), std::move(lanes), false});
      if (!lives.empty()) overview_.groups.push_back({tensors_title(pair, lives), lives, true});
    }
  }

  QString tensors_title(const ProcessDevice& of, const std::vector<int>& lives) {
    const auto shown = static_cast<std::int64_t>(lives.size());
    const std::int64_t all =
        session_.integer("SELECT count(*) FROM tensor WHERE process_id = " + std::to_string(of.first) +
                         " AND device_id = " + std::to_string(of.second));
    const QString title = QStringLiteral("Tensors, largest first   ·   ");
    return shown < all ? title + QStringLiteral("%1 of %2").arg(count_text(shown), count_text(all))
                       : title + count_text(shown);
  }

  trace::Session& session_;
  const NameBook& names_;
  const std::function<void(double)>& step_;
  Overview overview_;
};

}  // namespace

Overview make_overview(trace::Session& session, const NameBook& names,
                       const std::function<void(double)>& step) {
  return Builder(session, names, step).make();
}

}  // namespace tferry::gui
