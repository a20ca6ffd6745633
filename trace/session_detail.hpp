#pragma once

#include "trace/sqlite.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::trace {

// The level of detail of large sessions: summaries of their recorded events, so that a viewer shows ten
// million of them at once and reads single ones only where few are in sight. Tables `detail_lane` and
// `detail`, which docs/schema.md describes, are there from kDetailEvents events on; they are made when a
// session is published and are never needed to understand it.

/// Sessions with fewer events are read as quickly without.
inline constexpr std::int64_t kDetailEvents = 200'000;
/// Each level is this many times (1 << kDetailStep) coarser than the one below.
inline constexpr int kDetailStep = 2;

/// The time below this of one lane that one summary stands for.
struct DetailBucket {
  std::int64_t bucket = 0;   ///< from bucket << level to (bucket + 1) << level nanoseconds
  std::int64_t count = 0;    ///< events that begin in it
  std::int64_t busy_ns = 0;  ///< of it, covered by events; more than its length where they overlap
  double bytes = 0;          ///< that they moved in it; a counter's sum
  double highest = 0;        ///< a counter's highest rate per second
  std::int64_t name_id = 0;  ///< of what took most of it, by majority vote; 0: no name
};

/// Summarises the events of one lane at all levels. Events have to come in the order of their start.
class DetailBuilder {
 public:
  /// `emit(level, bucket)` gets each bucket that holds something once, in order within its level.
  template <typename Emit>
  void add(std::int64_t start_ns, std::int64_t end_ns, double bytes, double highest, std::int64_t name_id,
           Emit&& emit) {
    for (Level& level : levels_) add_to(level, start_ns, end_ns, bytes, highest, name_id, emit);
  }
  template <typename Emit>
  void finish(Emit&& emit) {
    for (Level& level : levels_) {
      for (const Open& open : level.open) emit(level.shift, open.bucket);
      level.open.clear();
    }
  }

  /// Levels for `count` events within `span_ns`: the finest has some eight events a bucket, the coarsest some
  /// hundreds of buckets.
  DetailBuilder(std::int64_t count, std::int64_t span_ns);
  int finest() const { return levels_.front().shift; }

 private:
  struct Open {
    DetailBucket bucket;
    std::int64_t votes = 0;
  };
  struct Level {
    int shift = 0;
    std::vector<Open> open;  ///< buckets that later events may still reach, by number
  };

  template <typename Emit>
  void add_to(Level& level, std::int64_t start_ns, std::int64_t end_ns, double bytes, double highest,
              std::int64_t name_id, Emit&& emit) {
    const std::int64_t first = start_ns >> level.shift,
                       last = (end_ns > start_ns ? end_ns - 1 : end_ns) >> level.shift;
    std::size_t done = 0;  // events come by start: what lies before this one is complete
    while (done < level.open.size() && level.open[done].bucket.bucket < first)
      emit(level.shift, level.open[done++].bucket);
    if (done > 0)
      level.open.erase(level.open.begin(), level.open.begin() + static_cast<std::ptrdiff_t>(done));
    for (std::int64_t number = first; number <= last; ++number) {
      Open& open = bucket(level, number);
      const std::int64_t from = number << level.shift, to = (number + 1) << level.shift;
      const std::int64_t covered = (end_ns < to ? end_ns : to) - (start_ns > from ? start_ns : from);
      if (number == first) ++open.bucket.count;
      count(open, covered, end_ns - start_ns, bytes, highest, name_id);
    }
  }
  static Open& bucket(Level& level, std::int64_t number);
  static void count(Open& open, std::int64_t covered, std::int64_t length, double bytes, double highest,
                    std::int64_t name_id);

  std::vector<Level> levels_;
};

/// Makes both tables from the events of a session, if it has enough of them. Throws SqliteError.
void create_detail(Database& database, std::int64_t from_events = kDetailEvents);
/// A session has them.
bool has_detail(Database& database);

}  // namespace tferry::trace
