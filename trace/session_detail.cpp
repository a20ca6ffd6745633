#include "trace/session_detail.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace tferry::trace {
namespace {

constexpr std::int64_t kEventsPerBucket = 8;
constexpr std::int64_t kCoarsestBuckets = 512;
constexpr int kFinestShift = 6;
constexpr std::size_t kMostOpen = std::size_t{1}
                                  << 20;  // buckets of one event: damaged times do not eat memory

/// Where events come from. `keys` are process, device, key and owner of the lane; key is the stream, the
/// copy's kind, the thread or the counter's name.
struct Source {
  const char* name;
  const char* keys;
  const char* end;
  const char* what;  ///< bytes, value per second, name
  const char* rows;
};

constexpr Source kSources[] = {
    {"kernel", "process_id, device_id, stream_id, owner", "coalesce(end_ns, start_ns)", "0, 0, name_id",
     "kernel WHERE start_ns IS NOT NULL"},
    {"memset", "process_id, device_id, stream_id, owner", "coalesce(end_ns, start_ns)", "bytes, 0, 0",
     "memset WHERE start_ns IS NOT NULL"},
    {"memcpy", "process_id, device_id, kind, owner", "coalesce(end_ns, start_ns)", "bytes, 0, 0",
     "memcpy WHERE start_ns IS NOT NULL"},
    {"marker", "process_id, 0, thread, 0", "coalesce(end_ns, start_ns)", "0, 0, name_id", "marker WHERE 1"},
    {"sync", "process_id, 0, 0, 0", "coalesce(end_ns, start_ns)", "0, 0, 0", "sync WHERE 1"},
    {"counter", "0, device_id, name_id, 0", "end_ns", "value, value * 1e9 / (end_ns - start_ns), 0",
     "counter WHERE device_id IS NOT NULL AND end_ns > start_ns"},
};

constexpr const char* kTables =
    "CREATE TABLE detail_lane(id INTEGER PRIMARY KEY, source TEXT NOT NULL, process_id INTEGER, device_id "
    "INTEGER, "
    "key INTEGER, owner INTEGER, count INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT "
    "NULL, "
    "longest_ns INTEGER NOT NULL, finest INTEGER NOT NULL);"
    "CREATE TABLE detail(lane_id INTEGER NOT NULL, level INTEGER NOT NULL, bucket INTEGER NOT NULL, count "
    "INTEGER NOT "
    "NULL, busy_ns INTEGER NOT NULL, bytes REAL NOT NULL, highest REAL NOT NULL, name_id INTEGER, PRIMARY "
    "KEY(lane_id, "
    "level, bucket)) WITHOUT ROWID";

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Key key_of(const Statement& row) { return {row.integer(0), row.integer(1), row.integer(2), row.integer(3)}; }

struct Lane {
  std::int64_t id;
  DetailBuilder builder;
};

class Writer {
 public:
  explicit Writer(Database& database)
      : database_(database),
        lane_(database,
              "INSERT INTO detail_lane(source, process_id, device_id, key, owner, count, first_ns, last_ns, "
              "longest_ns, finest) VALUES (?,?,?,?,?,?,?,?,?,?)"),
        bucket_(database, "INSERT INTO detail VALUES (?,?,?,?,?,?,?,?)") {}

  void summarise(const Source& source) {
    std::map<Key, Lane> lanes = make_lanes(source);
    if (lanes.empty()) return;
    Statement rows(database_, std::string("SELECT ") + source.keys + ", start_ns, " + source.end + ", " +
                                  source.what + " FROM " + source.rows + " ORDER BY start_ns");
    auto lane = lanes.end();
    while (rows.step()) {
      const Key key = key_of(rows);
      if (lane == lanes.end() || lane->first != key) lane = lanes.find(key);
      const std::int64_t start = rows.integer(4), end = std::max(start, rows.integer(5));
      lane->second.builder.add(
          start, end, rows.real(6), rows.real(7), rows.integer(8),
          [&](int level, const DetailBucket& bucket) { write(lane->second.id, level, bucket); });
    }
    for (auto& [key, last] : lanes)
      last.builder.finish([&](int level, const DetailBucket& bucket) { write(last.id, level, bucket); });
  }

 private:
  std::map<Key, Lane> make_lanes(const Source& source) {
    std::map<Key, Lane> lanes;
    const std::string end = source.end;
    Statement groups(database_, std::string("SELECT ") + source.keys + ", count(*), min(start_ns), max(" +
                                    end + "), max(" + end + " - start_ns) FROM " + source.rows +
                                    " GROUP BY 1, 2, 3, 4");
    while (groups.step()) {
      DetailBuilder builder(groups.integer(4), groups.integer(6) - groups.integer(5));
      lane_.bind(1, source.name);
      for (int column = 0; column < 8; ++column) lane_.bind(column + 2, groups.integer(column));
      lane_.bind(10, builder.finest());
      lane_.run();
      lanes.emplace(key_of(groups), Lane{database_.last_insert_id(), std::move(builder)});
    }
    return lanes;
  }

  void write(std::int64_t lane, int level, const DetailBucket& bucket) {
    bucket_.bind(1, lane);
    bucket_.bind(2, level);
    bucket_.bind(3, bucket.bucket);
    bucket_.bind(4, bucket.count);
    bucket_.bind(5, bucket.busy_ns);
    bucket_.bind(6, bucket.bytes);
    bucket_.bind(7, bucket.highest);
    bucket_.bind(8, bucket.name_id);
    bucket_.run();
  }

  Database& database_;
  Statement lane_, bucket_;
};

}  // namespace

DetailBuilder::DetailBuilder(std::int64_t count, std::int64_t span_ns) {
  int shift = kFinestShift;
  while ((span_ns >> shift) > std::max<std::int64_t>(1, count / kEventsPerBucket)) shift += kDetailStep;
  do {
    levels_.push_back({shift, {}});
    shift += kDetailStep;
  } while ((span_ns >> shift) > kCoarsestBuckets && shift < 60);
}

DetailBuilder::Open& DetailBuilder::bucket(Level& level, std::int64_t number) {
  const auto place =
      std::lower_bound(level.open.begin(), level.open.end(), number,
                       [](const Open& open, std::int64_t wanted) { return open.bucket.bucket < wanted; });
  if (place != level.open.end() && place->bucket.bucket == number) return *place;
  if (level.open.size() >= kMostOpen) return level.open.back();
  Open open;
  open.bucket.bucket = number;
  return *level.open.insert(place, open);
}

void DetailBuilder::count(Open& open, std::int64_t covered, std::int64_t length, double bytes, double highest,
                          std::int64_t name_id) {
  DetailBucket& bucket = open.bucket;
  bucket.busy_ns += covered;
  bucket.bytes += length > 0 ? bytes * static_cast<double>(covered) / static_cast<double>(length) : bytes;
  bucket.highest = std::max(bucket.highest, highest);
  const std::int64_t weight = std::max<std::int64_t>(1, covered);
  if (bucket.name_id == name_id) {
    open.votes += weight;
  } else if ((open.votes -= weight) < 0) {
    bucket.name_id = name_id;
    open.votes = -open.votes;
  }
}

bool has_detail(Database& database) {
  return database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'detail_lane'") > 0;
}

void create_detail(Database& database, std::int64_t from_events) {
  const std::int64_t events = database.integer(
      "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM memcpy) + (SELECT count(*) FROM memset) "
      "+ (SELECT "
      "count(*) FROM marker) + (SELECT count(*) FROM sync) + (SELECT count(*) FROM counter)");
  if (events < from_events || has_detail(database)) return;
  database.execute(kTables);
  Writer writer(database);
  for (const Source& source : kSources) writer.summarise(source);
}

}  // namespace tferry::trace
