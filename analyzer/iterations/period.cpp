#include "analyzer/iterations/period.hpp"

#include "analyzer/iterations/segment.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace tferry::analyzer {
namespace {

constexpr std::size_t kMaxCandidates = 12;
constexpr double kMinCoverage = 0.25;
constexpr double kMinResultCoverage = 0.6;
constexpr double kMinContiguity = 0.45;
constexpr double kSureConfidence = 0.8;
constexpr std::size_t kMaxAccumulation = 128;
constexpr std::size_t kMinMicroBatch = 8;  ///< operations; shorter repetitions are layers, not micro-batches

/// Distances at which runs come back, best supported first, at most kMaxCandidates.
std::vector<std::size_t> candidate_periods(const SignatureIndex& index) {
  struct Support {
    double coverage = 0;
    std::size_t votes = 0;
    std::size_t period = 0;
    double weight() const { return coverage * std::log2(1.0 + static_cast<double>(votes)); }
  };
  std::map<int, Support> support;  // by logarithm of the period, so that near ones vote together
  std::vector<std::size_t> gaps;
  for (const NgramIndex& runs : index.scales()) {
    for (std::size_t kind = 0; kind < runs.kinds(); ++kind) {
      const auto at = runs.occurrences(kind);
      if (at.size() < 2) continue;
      gaps.clear();
      for (std::size_t i = 1; i < at.size(); ++i) gaps.push_back(at[i] - at[i - 1]);
      const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
      std::nth_element(gaps.begin(), middle, gaps.end());
      const std::size_t median = *middle;
      const std::size_t tolerance = period_tolerance(median);
      std::size_t regular = 0;
      for (const std::size_t gap : gaps) regular += gap + tolerance >= median && gap <= median + tolerance;
      if (5 * regular < 2 * gaps.size()) continue;
      Support& bucket = support[static_cast<int>(std::log(static_cast<double>(median)) / std::log(1.04))];
      const double coverage =
          static_cast<double>(regular * median) / static_cast<double>(index.size() - at.front());
      ++bucket.votes;
      if (coverage > bucket.coverage) bucket.coverage = coverage, bucket.period = median;
    }
  }
  std::vector<Support> ranked;
  for (const auto& [key, bucket] : support) {
    if (bucket.coverage >= kMinCoverage) ranked.push_back(bucket);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Support& a, const Support& b) { return a.weight() > b.weight(); });
  std::vector<std::size_t> periods;
  for (const Support& bucket : ranked) {
    if (periods.size() == kMaxCandidates) break;
    periods.push_back(bucket.period);
  }
  return periods;
}

/// Whether the sequence is really cut into iterations of the longer segmentation, and how often the shorter
/// one repeats in each.
class Nesting {
 public:
  Nesting(const SignatureIndex& index, const Segmentation& inner, const Segmentation& outer)
      : runs_(index.scales()[1]), inner_(inner), outer_(outer) {
    measure();
  }

  /// The outer one adds operations that the inner one never has: see find_iterations.
  bool adds_something_new() const {
    if (repeats_ == 0) return false;
    if (inner_.period >= kMinMicroBatch && repeats_ > kMaxAccumulation) return false;
    const double novel = static_cast<double>(novel_);
    const double excess = static_cast<double>(outer_.period) - static_cast<double>(repeats_ * inner_.period);
    return novel >= std::min(4.0, static_cast<double>(outer_.period) / 10.0) && novel >= 0.4 * excess;
  }

  std::size_t accumulation() const {
    const bool fills = 10 * repeats_ * inner_.period >= 7 * outer_.period;
    return repeats_ >= 2 && fills && inner_.period >= kMinMicroBatch ? repeats_ : 1;
  }

 private:
  void measure() {
    std::vector<bool> known(runs_.kinds());
    std::size_t samples = 0;
    for (std::size_t i = 0; i + 1 < inner_.spans.size() && samples < 8; ++i) {
      const IterationSpan& piece = inner_.spans[i];
      if (piece.size() != inner_.period || inner_.spans[i + 1].begin != piece.end) continue;
      ++samples;
      for (std::size_t at = piece.begin; at < std::min(piece.end, runs_.positions()); ++at) {
        known[runs_.kind_at(at)] = true;
      }
    }
    const IterationSpan& typical = outer_.spans[outer_.spans.size() / 2];
    const std::size_t recurring = std::max<std::size_t>(2, outer_.spans.size() / 2);
    std::size_t unknown = 0;
    for (std::size_t at = typical.begin; at < std::min(typical.end, runs_.positions()); ++at) {
      const std::uint32_t kind = runs_.kind_at(at);
      unknown += !known[kind] && runs_.occurrences(kind).size() >= recurring;
    }
    novel_ = unknown >= runs_.length() ? unknown - runs_.length() + 1 : 0;

    std::vector<std::size_t> counts;
    std::size_t i = 0;
    for (const IterationSpan& piece : outer_.spans) {
      while (i < inner_.spans.size() && inner_.spans[i].begin < piece.begin) ++i;
      std::size_t count = 0;
      for (; i < inner_.spans.size() && inner_.spans[i].begin < piece.end; ++i) ++count;
      counts.push_back(count);
    }
    std::sort(counts.begin(), counts.end());
    repeats_ = counts[counts.size() / 2];
  }

  const NgramIndex& runs_;
  const Segmentation& inner_;
  const Segmentation& outer_;
  std::size_t novel_ = 0;
  std::size_t repeats_ = 0;
};

/// Moves the boundaries of accumulated steps to the nearest beginning of a micro-batch: what is particular to
/// a step is its optimiser, at its end.
void align(Segmentation& outer, const Segmentation& inner, std::size_t repeats, std::size_t sequence) {
  const auto nearest = [&](std::size_t position) {
    std::size_t best = inner.spans.front().begin;
    const auto after = std::lower_bound(inner.spans.begin(), inner.spans.end(), position,
                                        [](const IterationSpan& s, std::size_t p) { return s.begin < p; });
    if (after != inner.spans.begin()) best = (after - 1)->begin;
    if (after == inner.spans.end()) return best;
    const std::size_t distance = best > position ? best - position : position - best;
    return after->begin - position < distance ? after->begin : best;
  };
  const auto about = [&](std::size_t length) {
    const std::size_t tolerance = period_tolerance(outer.period);
    return length + tolerance >= outer.period && length <= outer.period + tolerance;
  };
  const auto inner_begins = [&](std::size_t begin, std::size_t end) {
    return static_cast<std::size_t>(
        std::count_if(inner.spans.begin(), inner.spans.end(),
                      [&](const IterationSpan& s) { return s.begin >= begin && s.begin < end; }));
  };
  std::vector<std::size_t> starts;
  const auto add = [&](std::size_t boundary) {
    const std::size_t start = nearest(boundary);
    starts.push_back(start);
    if (start + period_tolerance(outer.period) < outer.period) return;
    const std::size_t before = nearest(start - std::min(start, outer.period));
    if (before < start && about(start - before)) starts.push_back(before);
  };
  for (const IterationSpan& piece : outer.spans) {
    add(piece.begin);
    add(piece.end);
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());

  std::vector<IterationSpan> moved;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!moved.empty() && starts[i] < moved.back().end) continue;
    std::size_t end = starts[i] + outer.period;
    if (i + 1 < starts.size() && about(starts[i + 1] - starts[i])) end = starts[i + 1];
    if (end <= sequence && inner_begins(starts[i], end) == repeats) moved.push_back({starts[i], end});
  }
  if (moved.size() + 1 >= outer.spans.size()) outer.spans = moved;
}

/// Of periods too close to each other to be nested, keeps the one that fits best. Sorted by period before and
/// after.
void drop_near_misses(std::vector<Segmentation>& levels) {
  std::vector<Segmentation> kept;
  for (Segmentation& level : levels) {
    if (kept.empty() || 2 * level.period >= 3 * kept.back().period) {
      kept.push_back(std::move(level));
    } else if (level.fit() > kept.back().fit()) {
      kept.back() = std::move(level);
    }
  }
  levels = std::move(kept);
}

}  // namespace

std::optional<Iterations> find_iterations(std::span<const std::uint32_t> signatures) {
  if (signatures.size() < 3) return std::nullopt;
  const SignatureIndex index(signatures);
  std::vector<Segmentation> levels;
  double best_fit = 0;
  for (const std::size_t period : candidate_periods(index)) {
    std::optional<Segmentation> level = cut_at_period(index, period);
    if (!level || level->coverage < kMinCoverage || level->contiguity < kMinContiguity) continue;
    best_fit = std::max(best_fit, level->fit());
    levels.push_back(std::move(*level));
  }
  std::sort(levels.begin(), levels.end(),
            [](const Segmentation& a, const Segmentation& b) { return a.period < b.period; });
  std::erase_if(levels, [&](const Segmentation& level) { return level.fit() < 0.4 * best_fit; });
  drop_near_misses(levels);
  if (levels.empty()) return std::nullopt;

  const auto start = std::find_if(levels.begin(), levels.end(),
                                  [&](const Segmentation& level) { return level.fit() >= 0.65 * best_fit; });
  Segmentation* current = &*start;
  for (auto level = start + 1; level != levels.end(); ++level) {
    if (level->period > current->period + period_tolerance(current->period) &&
        Nesting(index, *current, *level).adds_something_new()) {
      current = &*level;
    }
  }

  if (current->spans.size() < 3) {
    const auto shorter = std::find_if(levels.begin(), levels.end(), [](const Segmentation& level) {
      return level.spans.size() >= 3 && level.coverage * level.likeness >= kSureConfidence;
    });
    if (shorter == levels.end()) return std::nullopt;
    current = &*shorter;
  }

  Iterations result;
  for (const Segmentation& level : levels) {
    if (2 * level.period > current->period + period_tolerance(current->period)) break;
    const std::size_t accumulation = Nesting(index, level, *current).accumulation();
    const std::size_t inner = level.spans.front().begin;
    const std::size_t outer = current->spans.front().begin;
    if (accumulation == 1 || inner > outer + period_tolerance(level.period)) continue;
    result.accumulation = accumulation;
    align(*current, level, accumulation, signatures.size());
    break;
  }
  result.spans = std::move(current->spans);
  result.period = current->period;
  result.confidence = current->coverage * current->likeness;
  if (current->coverage < kMinResultCoverage) return std::nullopt;
  return result;
}

}  // namespace tferry::analyzer
