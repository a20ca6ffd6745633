#include "gui/session/slice_reader.hpp"

#include "gui/session/contention_lanes.hpp"
#include "gui/session/lane_counts.hpp"
#include "gui/session/moves_lane.hpp"
#include "gui/session/slice_builder.hpp"
#include "gui/session/tensor_lanes.hpp"
#include "trace/session_detail.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tferry::gui {
namespace {

struct Cancelled {};

/// Where so many events of a kind are in sight, their finest summaries are read instead.
constexpr double kMostRows = 200'000;
constexpr std::size_t kMostPlannedIterations = 200;

/// The level of a source's summaries whose buckets are at most a pixel long; none if even the finest are
/// longer.
std::optional<int> level_of(const DetailSource& source, double ns_per_pixel) {
  const int wanted = ns_per_pixel < 1 ? 0 : static_cast<int>(std::floor(std::log2(ns_per_pixel)));
  if (wanted < source.finest) return std::nullopt;
  return source.finest +
         (std::min(wanted, source.coarsest) - source.finest) / trace::kDetailStep * trace::kDetailStep;
}

/// What a lane is known by in the rows of its tables.
using LaneKey = std::tuple<LaneKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

LaneKey key_of(const Lane& lane) {
  switch (lane.kind) {
    case LaneKind::kStream:
      return {lane.kind, lane.process_id, lane.device_id, lane.key, 0};
    case LaneKind::kCounter:
      return {lane.kind, 0, lane.device_id, lane.key, 0};
    default:
      return {lane.kind, lane.process_id, lane.device_id, lane.key,
              lane.kind == LaneKind::kCopies || lane.kind == LaneKind::kContention ? lane.owner : 0};
  }
}

/// Rows of one table as items. Columns: process, device, key, owner, id, start, end, name, bytes, tone, open.
struct ItemSource {
  LaneKind kind;
  EventTable table;
  const char* sql;
};

constexpr ItemSource kItems[] = {
    {LaneKind::kStream, EventTable::kKernel,
     "SELECT process_id, device_id, stream_id, 0, id, start_ns, coalesce(end_ns, start_ns), name_id, 0, "
     "owner, end_ns IS "
     "NULL FROM kernel WHERE start_ns >= ? AND start_ns < ? ORDER BY start_ns"},
    {LaneKind::kStream, EventTable::kMemset,
     "SELECT process_id, device_id, stream_id, 0, id, start_ns, coalesce(end_ns, start_ns), 0, bytes, owner, "
     "end_ns IS NULL "
     "FROM memset WHERE start_ns >= ? AND start_ns < ? ORDER BY start_ns"},
    {LaneKind::kCopies, EventTable::kMemcpy,
     "SELECT process_id, device_id, kind, owner, id, start_ns, coalesce(end_ns, start_ns), 0, bytes, kind + "
     "CASE "
     "WHEN (kind = 1 AND source_kind = 1) OR (kind = 2 AND destination_kind = 1) THEN 128 ELSE 0 END, "
     "end_ns IS NULL "
     "FROM memcpy WHERE start_ns >= ? AND start_ns < ? ORDER BY start_ns"},
    {LaneKind::kMarkers, EventTable::kMarker,
     "SELECT process_id, 0, thread, 0, id, start_ns, coalesce(end_ns, start_ns), name_id, 0, kind, end_ns IS "
     "NULL FROM "
     "marker WHERE start_ns >= ? AND start_ns < ? ORDER BY start_ns, end_ns DESC"},
    {LaneKind::kSyncs, EventTable::kSync,
     "SELECT process_id, 0, 0, 0, rowid, start_ns, coalesce(end_ns, start_ns), 0, 0, kind, end_ns IS NULL "
     "FROM sync WHERE "
     "start_ns >= ? AND start_ns < ? ORDER BY start_ns"},
    {LaneKind::kGates, EventTable::kGate,
     "SELECT process_id, device_id, 0, 0, rowid, start_ns, end_ns, 0, fetch_bytes, on_gpu, 0 FROM gate WHERE "
     "start_ns >= ? "
     "AND start_ns < ? ORDER BY start_ns"},
    {LaneKind::kMigrations, EventTable::kUmEvent,
     "SELECT process_id, coalesce(destination_device_id, source_device_id), 0, 0, rowid, start_ns, "
     "coalesce(end_ns, "
     "start_ns), 0, coalesce(bytes, 0), kind, end_ns IS NULL FROM um_event WHERE start_ns >= ? AND start_ns "
     "< ? ORDER BY "
     "start_ns"},
    {LaneKind::kIterations, EventTable::kIteration,
     "SELECT process_id, 0, 0, 0, id, start_ns, end_ns, 0, number, regular, 0 FROM iteration WHERE start_ns "
     ">= ? AND "
     "start_ns < ? ORDER BY start_ns"},
};

}  // namespace

/// One read of all lanes.
class SliceReader::Reading {
 public:
  Reading(SliceReader& reader, TimeRange range, double ns_per_pixel, const std::function<bool()>& cancelled,
          int only_lane, const std::set<int>& tensors)
      : reader_(reader),
        lanes_(reader.overview_->lanes),
        range_(range),
        ns_per_pixel_(ns_per_pixel),
        bucket_ns_(static_cast<std::int64_t>(ns_per_pixel)),
        cancelled_(cancelled),
        only_lane_(only_lane),
        tensors_(tensors) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      index_.emplace(key_of(lanes_[i]), i);
      builders_.emplace_back(bucket_ns_, lanes_[i].rows);
      curves_.emplace_back(bucket_ns_);
    }
    nesting_.resize(lanes_.size());
    choose_levels();
  }

  std::vector<std::shared_ptr<const Slice>> slices() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) read_summaries(i);
    for (const ItemSource& source : kItems) read_items(source);
    const std::string windows =
        std::string("SELECT ") + kContentionLane +
        ", min(id), start_ns, end_ns, 0, CAST(sum(lost_ns) AS INTEGER), 0, 0 FROM contention "
        "WHERE start_ns >= ? AND start_ns < ? AND " +
        kLostWhileRunning + " GROUP BY start_ns, end_ns, 3, 4 ORDER BY start_ns";
    read_items({LaneKind::kContention, EventTable::kContention, windows.c_str()});
    read_movements();
    read_plans();
    read_counters();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const bool in_sight = only_lane_ >= 0 || tensors_.contains(static_cast<int>(i));
      if (lanes_[i].kind != LaneKind::kTensor || !is_wanted(i) || !in_sight) continue;
      check_cancelled();
      read_tensor(reader_.session_, lanes_[i], time(i), range_, reader_.overview_->range.to_ns,
                  [&](const Item& item) { builders_[i].add(item); });
    }
    std::vector<Slice> slices(lanes_.size());
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      slices[i].bucket_ns = bucket_ns_;
      slices[i].items = builders_[i].take();
      slices[i].samples = curves_[i].take();
      if (lanes_[i].kind == LaneKind::kMemory && is_wanted(i))
        slices[i].samples = memory(i).samples(range_, bucket_ns_);
    }
    attribute_copies(slices);
    const auto nothing = std::make_shared<const Slice>();
    std::vector<std::shared_ptr<const Slice>> done;
    done.reserve(slices.size());
    for (Slice& slice : slices) {
      const bool empty = slice.items.empty() && slice.samples.empty();
      done.push_back(empty ? nothing : std::make_shared<const Slice>(std::move(slice)));
    }
    return done;
  }

 private:
  bool is_wanted(std::size_t lane) const { return only_lane_ < 0 || only_lane_ == static_cast<int>(lane); }

  /// Events of a kind that are in sight, if they are spread evenly.
  double rows_in_sight(LaneKind kind) const {
    double rows = 0;
    for (const Lane& lane : lanes_) {
      if (lane.kind != kind) continue;
      const auto span = static_cast<double>(std::max<std::int64_t>(1, lane.last_ns - lane.first_ns));
      rows += static_cast<double>(lane.count) * std::min(1.0, static_cast<double>(range_.length()) / span);
    }
    return rows;
  }

  /// Single events where they can be told apart or are few; else summaries, all sources of a lane alike.
  void choose_levels() {
    levels_.resize(lanes_.size());
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const std::vector<DetailSource>& sources = lanes_[i].detail;
      if (sources.empty() || only_lane_ >= 0) continue;
      const double rows = rows_in_sight(lanes_[i].kind);
      if (rows < kMostRows / 10) continue;
      const auto largest = std::min_element(sources.begin(), sources.end(),
                                            [](const auto& a, const auto& b) { return a.finest < b.finest; });
      levels_[i] = level_of(*largest, ns_per_pixel_);
      if (!levels_[i] && rows > kMostRows) levels_[i] = largest->finest;
    }
  }

  void read_summaries(std::size_t lane) {
    if (!levels_[lane]) return;
    for (const DetailSource& source : lanes_[lane].detail) {
      check_cancelled();
      const int level = std::clamp(*levels_[lane], source.finest, source.coarsest);
      const int steps = (level - source.finest) / trace::kDetailStep;
      const int shift = source.finest + steps * trace::kDetailStep;
      select(
          reader_.session_,
          "SELECT bucket, count, busy_ns, bytes, highest, name_id FROM detail WHERE lane_id = ? AND level = "
          "? AND bucket "
          ">= ? AND bucket <= ? ORDER BY bucket",
          [&](trace::Statement& row) { add_summary(lane, source, shift, row); }, source.lane_id, shift,
          range_.from_ns >> shift, range_.to_ns >> shift);
    }
  }

  void add_summary(std::size_t lane, const DetailSource& source, int shift, const trace::Statement& row) {
    const std::int64_t start = row.integer(0) << shift, length = std::int64_t{1} << shift;
    if (source.table == EventTable::kCounter)
      return curves_[lane].add(start, start + length, row.real(3), row.real(4));
    Item item;
    item.start_ns = start;
    item.end_ns = start + length;
    item.count = static_cast<std::int32_t>(std::min<std::int64_t>(row.integer(1), 1 << 30));
    item.busy =
        static_cast<float>(std::min(1.0, static_cast<double>(row.integer(2)) / static_cast<double>(length)));
    item.bytes = static_cast<std::int64_t>(row.real(3));
    item.name_id = row.integer(5);
    item.tone = static_cast<std::uint8_t>(lanes_[lane].key);
    item.table = source.table;
    builders_[lane].add(item);
  }

  void check_cancelled() const {
    if (cancelled_ && cancelled_()) throw Cancelled();
  }

  /// Far enough back for the longest event of these lanes; empty if there are none.
  std::optional<std::int64_t> earliest(LaneKind kind) const {
    std::optional<std::int64_t> longest;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].kind == kind && is_wanted(i) && !levels_[i])
        longest = std::max(longest.value_or(0), lanes_[i].longest_ns);
    }
    if (!longest) return std::nullopt;
    return range_.from_ns - *longest;
  }

  void read_items(const ItemSource& source) {
    const auto from = earliest(source.kind);
    if (!from) return;
    std::int64_t rows = 0;
    auto found = index_.end();
    select(
        reader_.session_, source.sql,
        [&](trace::Statement& row) {
          if ((++rows & 0xfff) == 0) check_cancelled();
          if (row.integer(6) < range_.from_ns) return;
          const LaneKey key{source.kind, row.integer(0), row.integer(1), row.integer(2), row.integer(3)};
          if (found == index_.end() || found->first != key) found = index_.find(key);
          if (found == index_.end() || levels_[found->second]) return;
          Item item;
          item.id = row.integer(4);
          item.start_ns = row.integer(5);
          item.end_ns = std::max(row.integer(6), item.start_ns);
          item.name_id = row.integer(7);
          item.bytes = row.integer(8);
          item.tone = static_cast<std::uint8_t>(row.integer(9));
          item.open = row.integer(10) != 0;
          item.table = source.table;
          if (item.open) item.end_ns = std::max(item.start_ns, reader_.overview_->range.to_ns);
          if (source.kind == LaneKind::kContention)
            item.busy = static_cast<float>(std::min(
                1.0, static_cast<double>(item.bytes) /
                         static_cast<double>(std::max<std::int64_t>(1, item.end_ns - item.start_ns))));
          if (source.kind == LaneKind::kMarkers) item.row = depth_of(found->second, item);
          if (source.kind == LaneKind::kMigrations)
            item.row = static_cast<std::uint8_t>(is_migration(item) ? 0 : lanes_[found->second].rows - 1);
          builders_[found->second].add(item);
        },
        *from, range_.to_ns);
  }

  static bool is_migration(const Item& item) {
    return item.tone >= static_cast<std::uint8_t>(trace::UmEventKind::kMigrationToDevice) &&
           item.tone <= static_cast<std::uint8_t>(trace::UmEventKind::kMigrationPeer);
  }

  void read_movements() {
    const auto from = earliest(LaneKind::kMoves);
    if (!from) return;
    std::int64_t rows = 0;
    read_moves(reader_.session_, {*from, range_.to_ns},
               [&](std::int64_t process, std::int64_t device, const Item& item) {
                 if ((++rows & 0xfff) == 0) check_cancelled();
                 const auto found = index_.find(LaneKey{LaneKind::kMoves, process, device, 0, 0});
                 if (found != index_.end() && item.end_ns >= range_.from_ns)
                   builders_[found->second].add(item);
               });
  }

  /// Where many iterations are in sight their movements could not be told apart: each is one item then.
  void read_plans() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].kind != LaneKind::kPlan || !is_wanted(i)) continue;
      PlanTimes& plan =
          reader_.plans_.try_emplace(lanes_[i].key, reader_.session_, lanes_[i].key).first->second;
      std::vector<trace::IterationRow> iterations;
      for (const auto& iteration : reader_.session_.rows<trace::IterationRow>(
               "WHERE process_id = ? AND regular = 1 AND end_ns > ? AND start_ns < ? ORDER BY start_ns",
               lanes_[i].process_id, range_.from_ns - lanes_[i].longest_ns, range_.to_ns))
        iterations.push_back(iteration);
      const bool many = iterations.size() > kMostPlannedIterations;
      std::vector<Item> items;
      for (const trace::IterationRow& iteration : iterations) {
        check_cancelled();
        if (many) {
          add_planned_iteration(iteration, plan.actions(), items);
          continue;
        }
        for (const PlannedMove& move : plan.of(iteration.id)) items.push_back(item_of(move));
      }
      std::stable_sort(items.begin(), items.end(),
                       [](const Item& a, const Item& b) { return a.start_ns < b.start_ns; });
      for (const Item& item : items) {
        if (item.end_ns >= range_.from_ns && item.start_ns < range_.to_ns) builders_[i].add(item);
      }
    }
  }

  static Item item_of(const PlannedMove& move) {
    Item item;
    item.table = EventTable::kPlanAction;
    item.id = move.id();
    item.start_ns = move.start_ns;
    item.end_ns = move.end_ns;
    item.bytes = move.bytes;
    item.tone = static_cast<std::uint8_t>(move.kind);
    item.row = comes_in(move.kind) ? 1 : 0;
    item.late_ns = move.late_ns();
    return item;
  }

  static void add_planned_iteration(const trace::IterationRow& iteration, std::size_t actions,
                                    std::vector<Item>& items) {
    Item item;
    item.table = EventTable::kPlanAction;
    item.start_ns = iteration.start_ns;
    item.end_ns = iteration.end_ns;
    item.count = static_cast<std::int32_t>(std::min<std::size_t>(actions, 1 << 30));
    for (const trace::TransferKind kind : {trace::TransferKind::kPark, trace::TransferKind::kFetch}) {
      item.tone = static_cast<std::uint8_t>(kind);
      item.row = comes_in(kind) ? 1 : 0;
      items.push_back(item);
    }
  }

  /// Enclosing ranges begin before the window, but within the longest duration: all of them were seen.
  std::uint8_t depth_of(std::size_t lane, const Item& item) {
    std::vector<std::int64_t>& open = nesting_[lane];
    while (!open.empty() && open.back() <= item.start_ns) open.pop_back();
    const std::size_t depth = open.size();
    open.push_back(item.end_ns);
    return static_cast<std::uint8_t>(
        std::min<std::size_t>(depth, static_cast<std::size_t>(lanes_[lane].rows - 1)));
  }

  void read_counters() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const Lane& lane = lanes_[i];
      if (lane.kind != LaneKind::kCounter || levels_[i] || !is_wanted(i)) continue;
      check_cancelled();
      select(
          reader_.session_,
          "SELECT start_ns, end_ns, value FROM counter WHERE name_id = ? AND device_id = ? AND start_ns >= ? "
          "AND start_ns "
          "< ? AND end_ns > start_ns ORDER BY start_ns",
          [&](trace::Statement& row) {
            const std::int64_t start = row.integer(0), end = row.integer(1);
            curves_[i].add(start, end, row.real(2), row.real(2) / static_cast<double>(end - start) * 1e9);
          },
          lane.key, lane.device_id, range_.from_ns - lane.longest_ns, range_.to_ns);
    }
  }

  const GpuTime& time(std::size_t lane) {
    static const GpuTime unknown;
    if (!reader_.times_) reader_.times_ = GpuTime::read(reader_.session_);
    const auto place = reader_.times_->find({lanes_[lane].process_id, lanes_[lane].device_id});
    return place == reader_.times_->end() ? unknown : place->second;
  }

  const MemoryCurve& memory(std::size_t lane) {
    const auto place = reader_.memory_.find(static_cast<int>(lane));
    if (place != reader_.memory_.end()) return place->second;
    return reader_.memory_
        .emplace(static_cast<int>(lane),
                 MemoryCurve(reader_.session_, lanes_[lane].process_id, lanes_[lane].device_id, time(lane),
                             reader_.overview_->moves_from_ns))
        .first->second;
  }

  void attribute_copies(std::vector<Slice>& slices) const {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const std::int64_t direction = lanes_[i].owner;
      if (lanes_[i].kind != LaneKind::kCounter || direction == 0) continue;
      for (std::size_t c = 0; c < lanes_.size(); ++c) {
        if (lanes_[c].kind == LaneKind::kCopies && lanes_[c].device_id == lanes_[i].device_id &&
            lanes_[c].key == direction)
          attribute(slices[i].samples, slices[c].items);
      }
    }
  }

  SliceReader& reader_;
  const std::vector<Lane>& lanes_;
  TimeRange range_;
  double ns_per_pixel_;
  std::int64_t bucket_ns_;
  const std::function<bool()>& cancelled_;
  int only_lane_;
  const std::set<int>& tensors_;  ///< lanes of tensors that are in sight
  std::vector<std::optional<int>>
      levels_;  ///< of the summaries that a lane is read from; none: single events
  std::map<LaneKey, std::size_t> index_;
  std::vector<SliceBuilder> builders_;
  std::vector<SampleBuilder> curves_;
  std::vector<std::vector<std::int64_t>> nesting_;
};

SliceReader::SliceReader(trace::Session& session, OverviewPtr overview)
    : session_(session), overview_(std::move(overview)) {}

PicturePtr SliceReader::read(TimeRange range, double ns_per_pixel, const std::function<bool()>& cancelled,
                             const std::set<int>& tensors) {
  auto picture = std::make_shared<Picture>();
  picture->range = range;
  picture->ns_per_pixel = ns_per_pixel;
  try {
    picture->slices = Reading(*this, range, ns_per_pixel, cancelled, -1, tensors).slices();
  } catch (const Cancelled&) {
    return nullptr;
  }
  if (!memory_.empty()) picture->memory_peak_ns = memory_.begin()->second.peak_ns();
  return picture;
}

EventRef SliceReader::event_at(int lane, std::int64_t time, std::int64_t within_ns, int row) {
  const std::function<bool()> never;
  const std::set<int> none;
  const auto slices = Reading(*this, {time - within_ns, time + within_ns + 1}, 0, never, lane, none).slices();
  const Item* best = nullptr;
  std::int64_t best_distance = 0;
  for (const Item& item : slices[static_cast<std::size_t>(lane)]->items) {
    if (row >= 0 && item.row != row) continue;
    const std::int64_t distance = std::max<std::int64_t>({0, item.start_ns - time, time - item.end_ns});
    if (best && distance > best_distance) continue;
    best = &item;
    best_distance = distance;
  }
  return best ? EventRef{best->table, best->id} : EventRef{};
}

}  // namespace tferry::gui
