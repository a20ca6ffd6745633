#include "analyzer/iterations/segment.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

constexpr double kMinLikeness = 0.5;
constexpr std::size_t kMaxHelpers = 64;

bool about(std::size_t length, std::size_t period) {
  const std::size_t tolerance = period_tolerance(period);
  return length + tolerance >= period && length <= period + tolerance;
}

/// A run whose occurrences mark iterations.
struct Anchor {
  std::span<const std::uint32_t> occurrences;
  std::size_t regular = 0;        ///< number of consecutive occurrences about one period apart
  std::size_t exact = 0;          ///< of these, how many exactly one
  std::size_t first_regular = 0;  ///< index into occurrences
  std::size_t support() const { return regular + exact; }
};

Anchor score(std::span<const std::uint32_t> occurrences, std::size_t period) {
  Anchor anchor{occurrences};
  for (std::size_t i = 1; i < occurrences.size(); ++i) {
    if (!about(occurrences[i] - occurrences[i - 1], period)) continue;
    if (anchor.regular++ == 0) anchor.first_regular = i - 1;
    anchor.exact += occurrences[i] - occurrences[i - 1] == period;
  }
  return anchor;
}

/// Compares pieces with a typical one as multisets of runs, so that insertions cost only the runs they touch.
class Likeness {
 public:
  Likeness(const SignatureIndex& index, std::size_t period, IterationSpan typical)
      : single_(index.scales()[0]),
        runs_(index.scale_for(period)),
        typical_(typical),
        wanted_(runs_.kinds()),
        used_(runs_.kinds()) {
    for (std::size_t i = typical.begin; i < end_of(typical); ++i) ++wanted_[runs_.kind_at(i)];
  }

  double operator()(IterationSpan piece) {
    const std::size_t end = end_of(piece);
    if (end == piece.begin) return likeness_by_position(piece);
    std::size_t matches = 0;
    for (std::size_t i = piece.begin; i < end; ++i) {
      const std::uint32_t kind = runs_.kind_at(i);
      if (used_[kind] < wanted_[kind]) ++used_[kind], ++matches;
    }
    for (std::size_t i = piece.begin; i < end; ++i) used_[runs_.kind_at(i)] = 0;
    const std::size_t cut_off = piece.end - end;
    const std::size_t expected = typical_.size() - std::min(typical_.size(), cut_off);
    return static_cast<double>(matches) / static_cast<double>(std::max(expected, end - piece.begin));
  }

 private:
  /// Runs may reach over the end of a piece into the next one, not over the end of the sequence.
  std::size_t end_of(IterationSpan piece) const {
    return std::clamp(piece.end, piece.begin, std::max(piece.begin, runs_.positions()));
  }

  /// For a last piece that is shorter than a run.
  double likeness_by_position(IterationSpan piece) const {
    std::size_t matches = 0;
    const std::size_t length = std::min(piece.size(), typical_.size());
    for (std::size_t i = 0; i < length; ++i) {
      matches += single_.kind_at(piece.begin + i) == single_.kind_at(typical_.begin + i);
    }
    return static_cast<double>(matches) / static_cast<double>(std::max(piece.size(), typical_.size()));
  }

  const NgramIndex& single_;
  const NgramIndex& runs_;
  IterationSpan typical_;
  std::vector<std::uint32_t> wanted_;
  std::vector<std::uint32_t> used_;
};

class Cutter {
 public:
  Cutter(const SignatureIndex& index, std::size_t period) : index_(index), period_(period) {
    choose_anchors();
  }

  std::optional<Segmentation> cut() {
    if (primary_.regular == 0) return std::nullopt;
    find_typical();
    Likeness likeness(index_, period_, typical_);
    Segmentation result;
    double sum = 0;
    std::size_t work = 0;
    const auto& starts = primary_.occurrences;
    std::size_t i = primary_.first_regular;
    std::size_t begin = starts[i];
    while (begin + period_ <= index_.size() + period_tolerance(period_) && work < 8 * index_.size()) {
      const IterationSpan piece{begin, std::min(next_boundary(begin), index_.size())};
      const bool plausible = about(piece.size(), period_) && (marked_ || !has_anchor_inside(piece));
      const double like = plausible ? likeness(piece) : 0;
      work += piece.size();
      if (like >= kMinLikeness) {
        result.spans.push_back(piece);
        sum += like;
      }
      const std::size_t from = like >= kMinLikeness ? piece.end : begin + 1;
      if (like >= kMinLikeness && marked_) {
        begin = from;
        continue;
      }
      while (i < starts.size() && starts[i] < from) ++i;
      if (i == starts.size()) break;
      begin = starts[i];
    }
    if (result.spans.size() < 2) return std::nullopt;
    finish(result, sum);
    return result;
  }

 private:
  std::size_t most_common_near(std::size_t period) const {
    const std::size_t tolerance = period_tolerance(period);
    std::vector<std::size_t> votes(2 * tolerance + 1);
    for (const NgramIndex& runs : index_.scales()) {
      for (std::size_t kind = 0; kind < runs.kinds(); ++kind) {
        const auto at = runs.occurrences(kind);
        for (std::size_t i = 1; i < at.size(); ++i) {
          const std::size_t gap = at[i] - at[i - 1];
          if (about(gap, period)) ++votes[gap + tolerance - period];
        }
      }
    }
    const auto best = std::max_element(votes.begin(), votes.end());
    return *best == 0 ? period : period - tolerance + static_cast<std::size_t>(best - votes.begin());
  }

  void choose_anchors() {
    std::vector<Anchor> anchors;
    std::size_t most = 0;
    for (const NgramIndex& runs : index_.scales()) {
      for (std::size_t kind = 0; kind < runs.kinds(); ++kind) {
        if (runs.occurrences(kind).size() < 2) continue;
        const Anchor anchor = score(runs.occurrences(kind), period_);
        if (anchor.regular == 0) continue;
        most = std::max(most, anchor.support());
        anchors.push_back(anchor);
      }
    }
    std::erase_if(anchors, [&](const Anchor& a) { return 8 * a.support() < 7 * most; });
    if (anchors.empty()) return;
    // One that comes in clusters, if only in a first step (fills of optimiser states), is regular from
    // cluster to cluster, and marks no place in an iteration.
    const auto clustered = [](const Anchor& a) { return a.occurrences.size() > 2 * (a.regular + 1); };
    if (!std::all_of(anchors.begin(), anchors.end(), clustered)) std::erase_if(anchors, clustered);
    const auto start = [](const Anchor& a) { return a.occurrences[a.first_regular]; };
    std::sort(anchors.begin(), anchors.end(),
              [&](const Anchor& a, const Anchor& b) { return start(a) < start(b); });
    primary_ = anchors.front();
    const std::size_t stride = std::max<std::size_t>(1, anchors.size() / kMaxHelpers);
    for (std::size_t i = stride; i < anchors.size(); i += stride) helpers_.push_back({anchors[i], 0});
  }

  /// The regular piece in the middle of the job, past all warm-up.
  void find_typical() {
    std::size_t seen = 0;
    for (std::size_t i = primary_.first_regular + 1; i < primary_.occurrences.size(); ++i) {
      const IterationSpan piece{primary_.occurrences[i - 1], primary_.occurrences[i]};
      if (!about(piece.size(), period_)) continue;
      typical_ = piece;
      if (++seen > primary_.regular / 2) break;
    }
    for (Helper& helper : helpers_) {
      const auto& all = helper.anchor.occurrences;
      const auto at = std::lower_bound(all.begin(), all.end(), typical_.begin);
      helper.offset = at == all.end() ? index_.size() : *at - typical_.begin;
    }
    std::erase_if(helpers_, [&](const Helper& h) { return h.offset >= typical_.size(); });
    std::sort(helpers_.begin(), helpers_.end(),
              [](const Helper& a, const Helper& b) { return a.offset < b.offset; });
  }

  /// Where the iteration after the one at `begin` starts: by the primary anchor, where that is missing by
  /// another one at its usual distance, else by the typical length (then nothing is known to follow: marked_
  /// is false).
  std::size_t next_boundary(std::size_t begin) {
    marked_ = true;
    if (const auto at = nearest(primary_.occurrences, begin + period_)) return *at;
    for (const Helper& helper : helpers_) {
      const auto at = nearest(helper.anchor.occurrences, begin + period_ + helper.offset);
      if (at && *at >= helper.offset + begin + 1) return *at - helper.offset;
    }
    marked_ = false;
    return begin + period_;
  }

  bool has_anchor_inside(IterationSpan piece) const {
    const auto& all = primary_.occurrences;
    const auto at = std::upper_bound(all.begin(), all.end(), piece.begin);
    return at != all.end() && *at < piece.end;
  }

  std::optional<std::size_t> nearest(std::span<const std::uint32_t> occurrences, std::size_t expected) const {
    const std::size_t tolerance = period_tolerance(period_);
    const auto after = std::lower_bound(occurrences.begin(), occurrences.end(), expected);
    std::optional<std::size_t> best;
    if (after != occurrences.end() && *after <= expected + tolerance) best = *after;
    if (after != occurrences.begin()) {
      const std::size_t before = *(after - 1);
      if (before + tolerance >= expected && (!best || expected - before < *best - expected)) best = before;
    }
    return best;
  }

  void finish(Segmentation& result, double sum) const {
    std::vector<std::size_t> lengths;
    std::size_t covered = 0;
    std::size_t follow = 0;
    for (std::size_t i = 0; i < result.spans.size(); ++i) {
      lengths.push_back(result.spans[i].size());
      covered += result.spans[i].size();
      follow += i > 0 && result.spans[i].begin == result.spans[i - 1].end;
    }
    result.contiguity = static_cast<double>(follow) / static_cast<double>(result.spans.size() - 1);
    std::nth_element(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2),
                     lengths.end());
    result.period = lengths[lengths.size() / 2];
    result.likeness = sum / static_cast<double>(result.spans.size());
    result.coverage =
        static_cast<double>(covered) / static_cast<double>(index_.size() - result.spans.front().begin);
  }

  struct Helper {
    Anchor anchor;
    std::size_t offset;  ///< from the beginning of an iteration
  };

  const SignatureIndex& index_;
  std::size_t period_;
  Anchor primary_;
  std::vector<Helper> helpers_;
  IterationSpan typical_;
  bool marked_ = true;
};

}  // namespace

SignatureIndex::SignatureIndex(std::span<const std::uint32_t> signatures)
    : size_(signatures.size()),
      scales_{NgramIndex(signatures, 1), NgramIndex(signatures, 4), NgramIndex(signatures, 12)} {}

const NgramIndex& SignatureIndex::scale_for(std::size_t period) const {
  return period >= 4 * scales_[2].length() ? scales_[2] : scales_[1];
}

std::size_t period_tolerance(std::size_t period) {
  if (period >= 8) return std::max<std::size_t>(2, period / 20);
  return period >= 3 ? 1 : 0;
}

std::optional<Segmentation> cut_at_period(const SignatureIndex& index, std::size_t period) {
  return Cutter(index, period).cut();
}

}  // namespace tferry::analyzer
