#include "cli/status/iteration_figures.hpp"

#include "analyzer/iterations/period.hpp"

#include <algorithm>
#include <vector>

namespace tferry::cli {
namespace {

constexpr std::size_t kWarmUpIterations = 2;
constexpr std::uint16_t kWaitedForFetch = 1;

std::int64_t median(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const std::int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

/// Whether the log, as far as it holds the whole job, accounts for what was moved. It lacks movements that no
/// operation was charged with; a twentieth may be missing (whole KiB, and what moved after the last
/// operation).
bool accounts_for(const OperationLog& log, std::int64_t logged, const std::optional<std::int64_t>& in_all) {
  return log.lost > 0 || !in_all || logged >= *in_all - *in_all / 20;
}

}  // namespace

std::optional<IterationFigures> measure_iterations(const OperationLog& log, int device,
                                                   const MovedBytes& in_all) {
  std::vector<trace::OperationEntry> entries;
  for (const trace::OperationEntry& entry : log.entries) {
    if (entry.device == device) entries.push_back(entry);
  }
  std::vector<std::uint32_t> signatures;
  std::int64_t all_parked_kib = 0, all_fetched_kib = 0;
  for (const trace::OperationEntry& entry : entries) {
    signatures.push_back(entry.signature);
    all_parked_kib += entry.parked_kib;
    all_fetched_kib += entry.fetched_kib;
  }
  const auto iterations = analyzer::find_iterations(signatures);
  const std::size_t skipped = log.lost == 0 ? kWarmUpIterations : 0;
  if (!iterations || iterations->count() <= skipped) return std::nullopt;

  std::vector<std::int64_t> times, parked, fetched, gated;
  for (std::size_t i = skipped; i < iterations->count(); ++i) {
    const analyzer::IterationSpan span = iterations->spans[i];
    std::int64_t parked_kib = 0, fetched_kib = 0, waited = 0;
    for (std::size_t n = span.begin; n < span.end; ++n) {
      parked_kib += entries[n].parked_kib;
      fetched_kib += entries[n].fetched_kib;
      waited += (entries[n].flags & kWaitedForFetch) != 0 ? 1 : 0;
    }
    parked.push_back(parked_kib * 1024);
    fetched.push_back(fetched_kib * 1024);
    gated.push_back(waited);
    if (span.end < entries.size() && entries[span.end].time_ns >= entries[span.begin].time_ns) {
      times.push_back(entries[span.end].time_ns - entries[span.begin].time_ns);
    }
  }
  IterationFigures figures;
  figures.found = iterations->count();
  figures.measured = parked.size();
  figures.operations = iterations->period;
  figures.accumulation = iterations->accumulation;
  figures.confidence = iterations->confidence;
  if (!times.empty()) figures.time_ns = median(times);
  if (accounts_for(log, all_parked_kib * 1024, in_all.parked)) figures.parked_bytes = median(parked);
  if (accounts_for(log, all_fetched_kib * 1024, in_all.fetched)) figures.fetched_bytes = median(fetched);
  figures.gated_operations = median(gated);
  return figures;
}

}  // namespace tferry::cli
