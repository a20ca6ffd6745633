#include "cli/session/name_allocations.hpp"

#include "trace/session_rows.hpp"
#include "trace/session_writer.hpp"

#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tferry::cli {
namespace {

using ThreadKey = std::pair<std::int64_t, std::int64_t>;  // process, thread

constexpr std::string_view kOurs = "tferry:";
constexpr const char* kBackward = "tferry:gradient:backward";

enum Event { kRange, kAllocation, kMark, kFree };

// All in one order: a range that begins when an allocation is made, begins before it.
constexpr const char* kEvents =
    "SELECT start_ns AS at, CASE kind WHEN 2 THEN 2 ELSE 0 END AS event, process_id, coalesce(thread, -1), "
    "coalesce(end_ns, 9223372036854775807), string.value, 0, 0, 0 FROM marker JOIN string ON string.id = "
    "name_id "
    "WHERE kind IN (1, 3) AND thread IS NOT NULL OR kind = 2 AND string.value LIKE 'tferry:%' "
    "UNION ALL SELECT alloc_ns, 1, process_id, coalesce(thread, -1), coalesce(free_ns, 9223372036854775807), "
    "NULL, id, address, bytes FROM allocation "
    "UNION ALL SELECT free_ns, 3, process_id, -1, 0, NULL, id, address, 0 FROM allocation WHERE free_ns IS "
    "NOT "
    "NULL ORDER BY at, event";

/// CATEGORY and PATH of tferry:CATEGORY:PATH; none for another text.
std::optional<std::pair<std::string, std::string>> parts_of(std::string_view text) {
  const std::size_t colon = text.starts_with(kOurs) ? text.find(':', kOurs.size()) : std::string_view::npos;
  if (colon == std::string_view::npos) return std::nullopt;
  return std::pair(std::string(text.substr(kOurs.size(), colon - kOurs.size())),
                   std::string(text.substr(colon + 1)));
}

struct Range {
  std::int64_t end_ns;
  std::string name;
};

struct Live {
  std::int64_t id = 0;
  std::int64_t bytes = 0;
};

struct Named {
  trace::AllocationNameRow row;
  std::optional<std::uint64_t> marked_at;  ///< by a mark at this address
  bool pool = false;                       ///< by marks at several
};

class Naming {
 public:
  explicit Naming(trace::SessionWriter& writer) : writer_(writer) {}

  std::int64_t run() {
    trace::Statement event(writer_.database(), kEvents);
    while (event.step()) {
      const std::int64_t process = event.integer(2);
      const ThreadKey thread{process, event.integer(3)};
      const auto address = static_cast<std::uint64_t>(event.integer(7));
      switch (static_cast<Event>(event.integer(1))) {
        case kRange:
          open(thread, event.integer(0), {event.integer(4), event.shown(5)});
          break;
        case kAllocation:
          made(thread, event.integer(0), event.integer(4), event.integer(6));
          live_[process][address] = {event.integer(6), event.integer(8)};
          break;
        case kMark:
          mark(process, event.shown(5));
          break;
        case kFree:
          live_[process].erase(address);
          break;
      }
    }
    for (auto& [id, named] : named_) {
      if (named.pool) named.row.name += " and others";
      writer_.insert(named.row);
    }
    return static_cast<std::int64_t>(named_.size());
  }

 private:
  void open(ThreadKey thread, std::int64_t now, Range range) {
    if (range.name == kBackward) backward_[thread.first] = range.end_ns;
    std::vector<Range>& ranges = open_[thread];
    std::erase_if(ranges, [now](const Range& other) { return other.end_ns < now; });
    ranges.push_back(std::move(range));
  }

  void made(ThreadKey thread, std::int64_t now, std::int64_t free_ns, std::int64_t id) {
    std::vector<Range>& ranges = open_[thread];
    std::erase_if(ranges, [now](const Range& range) { return range.end_ns < now; });
    if (ranges.empty()) {
      const auto backward = backward_.find(thread.first);
      if (thread.second < 0 || backward == backward_.end() || backward->second < now) return;
      named_[id].row = {.allocation_id = id, .name = "backward", .category = "gradient", .source = "pytorch"};
      return;
    }
    trace::AllocationNameRow row{
        .allocation_id = id, .name = ranges.back().name, .category = {}, .source = "nvtx"};
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
      const auto ours = parts_of(range->name);
      if (!ours) continue;
      row.category = ours->first;
      if (range == ranges.rbegin()) {
        row.name = ours->second;
        row.source = "pytorch";
      }
      if (ours->first == "activation" && free_ns <= range->end_ns) row.category = "workspace";
      break;
    }
    named_[id].row = std::move(row);
  }

  /// tferry:CATEGORY:PATH@0xADDRESS
  void mark(std::int64_t process, const std::string& text) {
    const auto ours = parts_of(text);
    const std::size_t at = ours ? ours->second.rfind("@0x") : std::string::npos;
    if (at == std::string::npos) return;
    std::uint64_t address = 0;
    const char* digits = ours->second.data() + at + 3;
    const char* end = ours->second.data() + ours->second.size();
    if (std::from_chars(digits, end, address, 16).ptr != end) return;
    const auto& live = live_[process];
    auto holder = live.upper_bound(address);
    if (holder == live.begin()) return;
    --holder;
    if (address >= holder->first + static_cast<std::uint64_t>(holder->second.bytes)) return;
    Named& named = named_[holder->second.id];
    if (named.marked_at && *named.marked_at != address) {
      named.pool = true;
      if (named.row.category != ours->first) named.row.category.reset();
      return;
    }
    if (named.marked_at && named.row.category == "weight") return;  // what it is for good
    named.marked_at = address;
    named.row = {.allocation_id = holder->second.id,
                 .name = ours->second.substr(0, at),
                 .category = ours->first,
                 .source = "pytorch"};
  }

  trace::SessionWriter& writer_;
  std::map<ThreadKey, std::vector<Range>> open_;
  std::map<std::int64_t, std::int64_t> backward_;               ///< end of a process's backward pass
  std::map<std::int64_t, std::map<std::uint64_t, Live>> live_;  ///< by process and address
  std::map<std::int64_t, Named> named_;
};

}  // namespace

std::int64_t name_allocations_by_nvtx(trace::SessionWriter& writer) {
  const bool any = writer.database().integer("SELECT EXISTS (SELECT 1 FROM marker)") != 0;
  return any ? Naming(writer).run() : 0;
}

void carry_names_over(trace::SessionWriter& writer) {
  writer.execute("DELETE FROM allocation_name WHERE source = 'matched'");
  // The name that most of a tensor's allocations have; of several the first by the alphabet.
  writer.execute(
      "CREATE TEMP TABLE tensor_name AS SELECT tensor_id, name, category FROM (SELECT tensor_id, name, "
      "category, "
      "row_number() OVER (PARTITION BY tensor_id ORDER BY count(*) DESC, name, category) AS place FROM "
      "tensor_allocation JOIN allocation_name USING (allocation_id) GROUP BY tensor_id, name, category) "
      "WHERE place = 1");
  writer.execute(
      "INSERT INTO allocation_name(allocation_id, name, category, source) SELECT DISTINCT allocation_id, "
      "name, "
      "category, 'matched' FROM tensor_allocation JOIN temp.tensor_name USING (tensor_id) WHERE "
      "allocation_id NOT "
      "IN (SELECT allocation_id FROM allocation_name)");
  writer.execute(
      "UPDATE tensor SET category = (SELECT category FROM temp.tensor_name WHERE tensor_id = tensor.id)");
  writer.execute("DROP TABLE temp.tensor_name");
}

}  // namespace tferry::cli
