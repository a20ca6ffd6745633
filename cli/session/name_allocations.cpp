#include "cli/session/name_allocations.hpp"

#include "trace/session_rows.hpp"
#include "trace/session_writer.hpp"

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tferry::cli {
namespace {

using ThreadKey = std::pair<std::int64_t, std::int64_t>;  // process, thread

struct Range {
  std::int64_t end_ns;
  std::string name;
};

// Both in one order: a range that begins when an allocation is made, begins before it.
constexpr const char* kEvents =
    "SELECT process_id, thread, start_ns AS at, coalesce(end_ns, 9223372036854775807), string.value, NULL "
    "FROM marker "
    "JOIN string ON string.id = name_id WHERE kind IN (1, 3) AND thread IS NOT NULL "
    "UNION ALL SELECT process_id, thread, alloc_ns, NULL, NULL, id FROM allocation WHERE thread IS NOT NULL "
    "ORDER BY at, 6 NULLS FIRST";

trace::AllocationNameRow row_of(std::int64_t allocation, const std::string& range) {
  constexpr std::string_view kOurs = "tferry:";
  const std::size_t colon = range.starts_with(kOurs) ? range.find(':', kOurs.size()) : std::string::npos;
  if (colon == std::string::npos) {
    return {.allocation_id = allocation, .name = range, .category = {}, .source = "nvtx"};
  }
  return {.allocation_id = allocation,
          .name = range.substr(colon + 1),
          .category = range.substr(kOurs.size(), colon - kOurs.size()),
          .source = "pytorch"};
}

}  // namespace

std::int64_t name_allocations_by_nvtx(trace::SessionWriter& writer) {
  std::map<ThreadKey, std::vector<Range>> open;
  std::vector<trace::AllocationNameRow> named;
  trace::Statement event(writer.database(), kEvents);
  while (event.step()) {
    std::vector<Range>& ranges = open[{event.integer(0), event.integer(1)}];
    const std::int64_t now = event.integer(2);
    std::erase_if(ranges, [now](const Range& range) { return range.end_ns < now; });
    if (event.is_null(5)) {
      ranges.push_back({event.integer(3), event.shown(4)});
    } else if (!ranges.empty()) {
      named.push_back(row_of(event.integer(5), ranges.back().name));
    }
  }
  for (const trace::AllocationNameRow& row : named) writer.insert(row);
  return static_cast<std::int64_t>(named.size());
}

}  // namespace tferry::cli
