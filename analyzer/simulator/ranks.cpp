#include "analyzer/simulator/ranks.hpp"

#include "analyzer/simulator/engine.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

namespace tferry::analyzer {
namespace {

class Ranks {
 public:
  Ranks(std::span<const SimulatedRank> ranks, const RankOptions& options) : options_(options) {
    std::vector<std::vector<LinkRates>> own(options.links.size());
    std::vector<std::size_t> place;
    for (const SimulatedRank& rank : ranks) {
      if (rank.link >= options.links.size())
        throw std::invalid_argument("a rank is on a link that is not there");
      place.push_back(own[rank.link].size());
      own[rank.link].push_back(rank.workload->link);
    }
    for (std::size_t l = 0; l < own.size(); ++l) {
      links_.push_back(std::make_unique<SharedLink>(options.links[l], std::move(own[l]), options.sharing,
                                                    options.simulation.chunk_latency_ns));
    }
    SimulationOptions each = options.simulation;
    each.iterations = options.rounds * static_cast<int>(options.iterations_per_round);
    each.measured = (options.rounds + 1) / 2 * static_cast<int>(options.iterations_per_round);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      SharedLink& link = *links_[ranks[r].link];
      ranks_.push_back(
          {std::make_unique<Engine>(*ranks[r].workload, *ranks[r].policy, each, link.port(place[r])), &link,
           place[r]});
      ranks_.back().engine->begin_at(
          options.skew * static_cast<double>(r * static_cast<std::size_t>(compute_time(*ranks[r].workload))));
    }
  }

  RankSimulation run() {
    hold();
    for (act(); !done(); act()) {
      double time = std::numeric_limits<double>::infinity();
      for (const Rank& rank : ranks_) time = std::min(time, rank.engine->time_left());
      for (const auto& link : links_) time = std::min(time, link->time_left());
      if (time == std::numeric_limits<double>::infinity()) {
        throw std::logic_error("the simulation of ranks cannot go on");
      }
      now_ += time;
      for (const auto& link : links_) link->advance(time);
      for (const Rank& rank : ranks_) {
        rank.engine->advance(time, rank.link->ended(rank.place, TransferPort::kIn),
                             rank.link->ended(rank.place, TransferPort::kOut));
        rank.link->set_iteration(rank.place, rank.engine->position() / rank.engine->operations());
      }
      ++result_.events;
      hold();
    }
    for (const Rank& rank : ranks_) {
      result_.by_rank.push_back(rank.engine->result());
      result_.time_ns = std::max(result_.time_ns, result_.by_rank.back().time_ns);
    }
    for (const auto& link : links_) {
      if (now_ > 0) result_.link_busy = std::max(result_.link_busy, link->busy_ns() / now_);
    }
    return std::move(result_);
  }

 private:
  struct Rank {
    std::unique_ptr<Engine> engine;
    SharedLink* link;
    std::size_t place;  ///< on its link
  };

  void act() {
    for (const Rank& rank : ranks_) rank.engine->act();
  }
  bool done() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.engine->done(); });
  }

  /// Nobody begins a round before all have ended the one before.
  void hold() {
    std::uint64_t round = ~std::uint64_t{0};
    for (const Rank& rank : ranks_) {
      round = std::min(round,
                       rank.engine->position() / (rank.engine->operations() * options_.iterations_per_round));
    }
    if (round == round_) return;
    round_ = round;
    for (const auto& link : links_) link->set_round(round);
    for (const Rank& rank : ranks_) {
      rank.engine->hold_from((round + 1) * rank.engine->operations() * options_.iterations_per_round);
    }
  }

  RankOptions options_;
  std::vector<std::unique_ptr<SharedLink>> links_;
  std::vector<Rank> ranks_;
  std::uint64_t round_ = ~std::uint64_t{0};
  double now_ = 0;
  RankSimulation result_;
};

}  // namespace

RankSimulation simulate_ranks(std::span<const SimulatedRank> ranks, const RankOptions& options) {
  return Ranks(ranks, options).run();
}

}  // namespace tferry::analyzer
