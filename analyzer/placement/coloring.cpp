#include "analyzer/placement/coloring.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tferry::analyzer {
namespace {

constexpr double kHaste = 100;  // how much dearer time is that a copy lacks than time that is not used

constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
// So many moves after the last that left fewer pieces without a chunk, none will: on recorded jobs at most
// 210 lay between two such moves where all were housed in the end.
constexpr std::size_t kMostMovesInVain = 1000;
constexpr double kPatience = 1.3;  // each time that a piece was turned out it is worth so much more

struct Piece {
  std::uint32_t part = 0, number = 0;
};

class Colorer {
 public:
  Colorer(const std::vector<Part>& parts, std::size_t chunks, const TickTimes& times,
          const ColoringOptions& options)
      : parts_(parts),
        times_(times),
        options_(options),
        result_{ChunkLines(chunks, static_cast<std::uint32_t>(times.at_ns.size())), {}} {}

  std::optional<Coloring> color() {
    result_.chunks.resize(parts_.size());
    for (const Part& part : parts_) weights_.push_back(part.length());
    for (const std::uint32_t p : order()) place(p);
    if (!house_the_rest()) return std::nullopt;
    return std::move(result_);
  }

 private:
  bool lasts(const Part& part) const {
    return part.presences.front().begin == 0 && part.length() == result_.lines.total();
  }

  std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> order(parts_.size());
    std::iota(order.begin(), order.end(), 0);
    const std::uint32_t total = result_.lines.total();
    const auto rank = [&](std::uint32_t p) {
      const Part& part = parts_[p];
      const bool crosses = part.presences.back().end > total;
      if (lasts(part)) return std::uint64_t{0};
      if (options_.long_first) return std::uint64_t{2} * total - part.length();
      return crosses ? 1 + std::uint64_t{total} - std::min(total, part.length())
                     : 2 * std::uint64_t{total} + part.presences.front().begin;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
    return order;
  }

  /// Pieces of one part take the best of all fitting chunks; the others' turn comes when all parts had
  /// theirs.
  void place(std::uint32_t p) {
    const Part& part = parts_[p];
    const CoarseTimes::Words touched = result_.lines.touched_by(part);
    std::vector<std::pair<double, std::uint32_t>> fitting;
    each_alike([&](std::uint32_t first, std::uint32_t end) {
      if (!result_.lines.fits(first, part, touched)) return;
      const double its_cost = cost(first, part);
      for (std::uint32_t c = first; c < end; ++c) fitting.emplace_back(its_cost, c);
    });
    const std::size_t count = std::min<std::size_t>(part.count, fitting.size());
    std::partial_sort(fitting.begin(), fitting.begin() + static_cast<std::ptrdiff_t>(count), fitting.end());
    std::vector<std::uint32_t> chosen;
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(fitting[i].second);
    std::sort(chosen.begin(), chosen.end());  // neighbours together can be copied together
    result_.chunks[p].resize(part.count, kNowhere);
    for (std::uint32_t i = 0; i < part.count; ++i) {
      if (i < count) {
        settle(p, i, chosen[i]);
      } else {
        homeless_.push_back({p, i});
      }
    }
  }

  /// Calls `visit` with every row of neighbouring chunks that the same parts are in.
  template <typename Visit>
  void each_alike(Visit visit) const {
    const auto count = static_cast<std::uint32_t>(result_.lines.size());
    for (std::uint32_t first = 0, end = 0; first < count; first = end) {
      for (end = first + 1; end < count && result_.lines.signature(end) == result_.lines.signature(first);)
        ++end;
      visit(first, end);
    }
  }

  void settle(std::uint32_t part, std::uint32_t piece, std::uint32_t chunk) {
    result_.lines.add(chunk, parts_[part], part, piece);
    result_.chunks[part][piece] = chunk;
  }

  /// Finds chunks for the pieces that found none by turning others out of theirs: those that are on the card
  /// shortest, and of these such as were not turned out before. False when it takes too long.
  bool house_the_rest() {
    std::size_t fewest = homeless_.size(), in_vain = 0;
    while (!homeless_.empty()) {
      in_vain = homeless_.size() < fewest ? 0 : in_vain + 1;
      fewest = std::min(fewest, homeless_.size());
      if (in_vain > kMostMovesInVain) return false;
      const Piece piece = homeless_.back();
      homeless_.pop_back();
      const Part& part = parts_[piece.part];
      std::uint32_t best = 0;
      const CoarseTimes::Words touched = result_.lines.touched_by(part);
      double least = std::numeric_limits<double>::infinity();
      each_alike([&](std::uint32_t c, std::uint32_t) {
        // What fits comes before what does not, whatever it costs.
        const double price =
            result_.lines.fits(c, part, touched) ? -1 / (1 + cost(c, part)) : harm(c, part, least);
        if (price < least) best = c, least = price;
      });
      turn_out(best, part);
      settle(piece.part, piece.number, best);
    }
    return true;
  }

  double harm(std::uint32_t chunk, const Part& part, double enough) const {
    double sum = 0;
    result_.lines.each_collision(chunk, part, [&](const Tenancy& tenancy) {
      sum += weights_[tenancy.part];
      return sum < enough;
    });
    return sum;
  }

  void turn_out(std::uint32_t chunk, const Part& part) {
    std::vector<Piece> out;
    result_.lines.each_collision(chunk, part, [&](const Tenancy& tenancy) {
      out.push_back({tenancy.part, tenancy.piece});
      return true;
    });
    for (const Piece& piece : out) {
      if (result_.chunks[piece.part][piece.number] == kNowhere) continue;  // collided more than once
      result_.lines.remove(chunk, piece.part, piece.number);
      result_.chunks[piece.part][piece.number] = kNowhere;
      weights_[piece.part] *= kPatience;
      homeless_.push_back(piece);
    }
  }

  double cost(std::uint32_t chunk, const Part& part) const {
    double sum = 0;
    for (const Presence& presence : part.presences) {
      const Tenancy* before = result_.lines.before(chunk, presence.begin);
      const Tenancy* after = result_.lines.after(chunk, presence.end);
      if (before == nullptr) {
        sum += times_.iteration_ns;
        continue;
      }
      const Presence& earlier = parts_[before->part].presences[before->presence];
      const Presence& later = parts_[after->part].presences[after->presence];
      sum += wait(earlier, presence, times_.between(before->end, presence.begin)) +
             wait(presence, later, times_.between(presence.end, after->begin));
    }
    return sum;
  }

  double wait(const Presence& earlier, const Presence& later, double apart_ns) const {
    const double empty_ns = apart_ns - earlier.delay_ns - later.lead_ns;
    const double least_ns = options_.patience_ns * (earlier.leaves + later.returns);
    return std::max(0.0, empty_ns) + kHaste * std::max(0.0, least_ns - empty_ns);
  }

  const std::vector<Part>& parts_;
  const TickTimes& times_;
  ColoringOptions options_;
  Coloring result_;
  std::vector<double> weights_;  ///< by part: how bad it is to turn a piece of it out
  std::vector<Piece> homeless_;
};

}  // namespace

std::optional<Coloring> color(const std::vector<Part>& parts, std::size_t chunks, const TickTimes& times,
                              const ColoringOptions& options) {
  return Colorer(parts, chunks, times, options).color();
}

}  // namespace tferry::analyzer
