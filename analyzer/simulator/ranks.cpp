#include "analyzer/simulator/ranks.hpp"

#include "analyzer/simulator/engine.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

namespace tferry::analyzer {
namespace {

/// Ranks on different links meet only where all wait for each other, so each link's ranks are taken alone
/// from one such point to the next: what a rank costs does not grow with the number of links.
class Ranks {
 public:
  Ranks(std::span<const SimulatedRank> ranks, const RankOptions& options)
      : options_(options), groups_(options.links.size()) {
    std::vector<std::vector<LinkRates>> own(options.links.size());
    for (const SimulatedRank& rank : ranks) {
      if (rank.link >= options.links.size())
        throw std::invalid_argument("a rank is on a link that is not there");
      own[rank.link].push_back(rank.workload->link);
    }
    for (std::size_t l = 0; l < own.size(); ++l) {
      groups_[l].link = std::make_unique<SharedLink>(options.links[l], std::move(own[l]), options.sharing,
                                                     options.simulation.chunk_latency_ns);
    }
    SimulationOptions each = options.simulation;
    each.iterations = options.rounds * static_cast<int>(options.iterations_per_round);
    each.measured = (options.rounds + 1) / 2 * static_cast<int>(options.iterations_per_round);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      Group& group = groups_[ranks[r].link];
      group.engines.push_back(std::make_unique<Engine>(*ranks[r].workload, *ranks[r].policy, each,
                                                       group.link->port(group.engines.size())));
      order_.push_back(group.engines.back().get());
      order_.back()->begin_at(
          options.skew * static_cast<double>(r * static_cast<std::size_t>(compute_time(*ranks[r].workload))));
    }
  }

  RankSimulation run() {
    for (std::uint64_t round = 0; !done(); ++round) {
      for (Group& group : groups_) group.begin_round(round, options_.iterations_per_round);
      double latest = 0;
      for (Group& group : groups_) latest = std::max(latest, group.run_round());
      for (Group& group : groups_) group.run_until(latest);
    }
    for (Engine* engine : order_) {
      result_.by_rank.push_back(engine->result());
      result_.time_ns = std::max(result_.time_ns, result_.by_rank.back().time_ns);
    }
    for (const Group& group : groups_) {
      result_.events += group.events;
      if (group.now > 0) result_.link_busy = std::max(result_.link_busy, group.link->busy_ns() / group.now);
    }
    return std::move(result_);
  }

 private:
  /// The ranks of one link, in the order of its ports.
  struct Group {
    std::unique_ptr<SharedLink> link;
    std::vector<std::unique_ptr<Engine>> engines;
    double now = 0;
    std::uint64_t events = 0;
    std::uint64_t iterations = 0;  ///< that may have ended before all wait for each other

    void begin_round(std::uint64_t round, std::uint64_t iterations_per_round) {
      link->set_round(round);
      iterations = (round + 1) * iterations_per_round;
      for (const auto& engine : engines) engine->hold_from(iterations * engine->operations());
    }

    /// To where all its ranks wait for those of other links, or are done. When that is.
    double run_round() {
      for (act(); !arrived(); act()) {
        if (!step(std::numeric_limits<double>::infinity()))
          throw std::logic_error("the simulation of ranks cannot go on");
      }
      return now;
    }
    void run_until(double time_ns) {
      for (act(); now < time_ns; act()) {
        if (!step(time_ns)) now = time_ns;
      }
    }

    void act() {
      for (const auto& engine : engines) engine->act();
    }
    bool arrived() const {
      return std::all_of(engines.begin(), engines.end(), [this](const auto& engine) {
        return engine->done() || engine->position() >= iterations * engine->operations();
      });
    }
    /// To the next thing that happens, but not beyond that time. False: nothing ever happens.
    bool step(double until_ns) {
      double time = link->time_left();
      for (const auto& engine : engines) time = std::min(time, engine->time_left());
      time = std::min(time, until_ns - now);
      if (time == std::numeric_limits<double>::infinity()) return false;
      link->advance(time);
      for (std::size_t place = 0; place < engines.size(); ++place) {
        Engine& engine = *engines[place];
        engine.advance(time, link->ended(place, TransferPort::kIn), link->ended(place, TransferPort::kOut));
        link->set_iteration(place, engine.position() / engine.operations());
      }
      now = time == until_ns - now ? until_ns : now + time;
      ++events;
      return true;
    }
  };

  bool done() const {
    return std::all_of(order_.begin(), order_.end(), [](const Engine* engine) { return engine->done(); });
  }

  RankOptions options_;
  std::vector<Group> groups_;
  std::vector<Engine*> order_;  ///< as the ranks came
  RankSimulation result_;
};

}  // namespace

RankSimulation simulate_ranks(std::span<const SimulatedRank> ranks, const RankOptions& options) {
  return Ranks(ranks, options).run();
}

}  // namespace tferry::analyzer
