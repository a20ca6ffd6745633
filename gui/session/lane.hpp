#pragma once

#include <QString>

#include <cstdint>
#include <memory>
#include <vector>

namespace tferry::gui {

/// What a lane of the timeline shows.
enum class LaneKind {
  kIterations,
  kMarkers,     ///< NVTX ranges of one thread, nested
  kStream,      ///< kernels and memsets of one stream
  kCopies,      ///< of one direction and owner
  kMoves,       ///< what the runtime parked, fetched and dropped
  kPlan,        ///< what the plan wanted of that
  kGates,       ///< operations that waited for memory
  kSyncs,       ///< the program waited for the GPU
  kMigrations,  ///< unified-memory events
  kContention,  ///< time lost on a link
  kCounter,
  kMemory,
  kTensor  ///< the life of one tensor, and below it what used it
};

/// The table that an event is a row of.
enum class EventTable : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kMarker,
  kSync,
  kGate,
  kSwap,
  kUmEvent,
  kIteration,
  kContention,
  kPlanAction,
  kCounter,
  kAllocation
};

/// Names one event of a session; id 0 is none.
struct EventRef {
  EventTable table = EventTable::kKernel;
  std::int64_t id = 0;
  bool operator==(const EventRef&) const = default;
};

/// Summaries of a lane's events in the session's level-of-detail tables.
struct DetailSource {
  std::int64_t lane_id = 0;  ///< detail_lane.id
  int finest = 0;            ///< level with the shortest buckets, of 1 << finest ns
  int coarsest = 0;
  EventTable table = EventTable::kKernel;
};

/// One row of events on the time axis. Ids are row ids of the session's tables; 0 is none.
struct Lane {
  LaneKind kind = LaneKind::kStream;
  std::int64_t process_id = 0;
  std::int64_t device_id = 0;
  std::int64_t key = 0;    ///< stream, copy kind, thread, counter's name, link or plan, by kind
  std::int64_t owner = 0;  ///< of copies and streams: enumeration stream_owner; of PCIe counters: copy_kind
  std::int64_t count = 0;  ///< events in the session
  std::int64_t first_ns = 0, last_ns = 0;
  std::int64_t longest_ns = 0;       ///< duration of the longest event
  int rows = 1;                      ///< nested ones below each other
  std::vector<DetailSource> detail;  ///< where its summaries are, if the session has them
  double capacity = 0;               ///< of a counter in bytes/s or of memory in bytes; 0: unknown
  double limit = 0;                  ///< budget of memory; 0: none
  QString title;
  QString name;  ///< of a tensor, as the analysis and plans name it
  QString hint;  ///< a sentence for the tooltip of the title
};

/// Lanes that belong together: one process on one GPU.
struct LaneGroup {
  QString title;
  std::vector<int> lanes;  ///< indexes into the overview's lanes, top to bottom
  bool folded = false;     ///< at first
};

/// One event, or the summary of several that lie too close together to be told apart.
struct Item {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t id = 0;       ///< 0: a summary
  std::int64_t name_id = 0;  ///< string.id; of a summary: what took most of the time
  std::int64_t bytes = 0;
  std::int32_t count = 1;
  float busy = 1;  ///< share of the time between start and end that events cover
  EventTable table = EventTable::kKernel;
  std::uint8_t row = 0;
  std::uint8_t tone = 0;     ///< copy kind, sync kind, transfer kind, by table
  bool open = false;         ///< still running when the recording ended
  std::int64_t late_ns = 0;  ///< of a movement: an operation waited for it so long
  bool late() const { return late_ns > 0; }
};

/// A stretch of a curve. In bytes or bytes/s; `part` is the share of `mean` that recorded events explain, or
/// of memory what is dead; `beyond` what is parked.
struct Sample {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double mean = 0;
  double high = 0;
  double part = 0;
  double beyond = 0;
};

/// In the tone of a copy: from pageable host memory, or to it, which the driver stages.
inline constexpr std::uint8_t kPageable = 0x80;

/// What one lane shows in a range. Immutable once it is handed over.
struct Slice {
  std::int64_t bucket_ns = 0;  ///< 0: single events; else summaries of that length
  std::vector<Item> items;     ///< by start
  std::vector<Sample> samples;
};

}  // namespace tferry::gui
