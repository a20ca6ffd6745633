#include "analyzer/live/reason_to_wait.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace tferry::analyzer {
namespace {

constexpr std::size_t kRepetitions = 3;
constexpr std::int64_t kToleratedOf = 20;  ///< one of so many operations more or less in an iteration
constexpr std::int64_t kNamedOf = 2;       ///< one byte of so many
constexpr std::int64_t kGrowthOf = 50;     ///< the same

std::int64_t number_at(const Recording& recording, std::size_t operation) {
  return operation < recording.operations.size() ? recording.operations[operation].number
                                                 : recording.operations.back().number + 1;
}

/// Bytes of what was allocated from an iteration's first call to the next one's, and is alive at the end.
std::int64_t kept_bytes(const Recording& recording, const IterationSpan& span) {
  const std::int64_t begin = recording.operations[span.begin].call_ns;
  const std::int64_t end = recording.operations[span.end].call_ns;  // another follows
  std::int64_t bytes = 0;
  for (const RecordedAllocation& allocation : recording.allocations) {
    if (allocation.alloc_ns >= begin && allocation.alloc_ns < end && !allocation.free_ns)
      bytes += allocation.bytes;
  }
  return bytes;
}

}  // namespace

std::string reason_to_wait(const LiveRecording& recording, const RankAnalysis& rank) {
  const std::vector<IterationSpan>& spans = rank.iterations->spans;
  const Recording& all = rank.source.recording;
  if (spans.size() < kRepetitions || rank.typical->regular.size() < kRepetitions)
    return "it has not repeated itself three times yet";
  const std::span<const IterationSpan> last(spans.end() - kRepetitions, spans.end());
  const std::size_t tolerance = rank.iterations->period / kToleratedOf + 1;
  for (std::size_t i = 1; i < last.size(); ++i) {
    if (last[i].begin > last[i - 1].end + tolerance) return "its last iterations do not follow each other";
  }
  if (all.operations.size() > last.back().end + rank.iterations->period + tolerance)
    return "it does something else by now";
  for (const IterationSpan& span : last) {
    if (recording.moved_between(number_at(all, span.begin), number_at(all, span.end)) == 0)
      return "what repeats itself moves nothing";
  }
  if (footprint(rank.typical->workload) < rank.typical->footprint_bytes / kNamedOf)
    return "what repeats itself names less than half of the memory";
  if (kept_bytes(all, last[1]) > rank.typical->footprint_bytes / kGrowthOf) return "its memory still grows";
  return "";
}

}  // namespace tferry::analyzer
