#include "analyzer/simulator/simulator.hpp"

#include "analyzer/simulator/engine.hpp"
#include "analyzer/simulator/link.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace tferry::analyzer {

Simulation simulate(const Workload& workload, Policy& policy, const SimulationOptions& options) {
  Link link(workload.link, options.chunk_latency_ns);
  Engine engine(workload, policy, options, link);
  std::uint64_t events = 0;
  for (engine.act(); !engine.done(); engine.act()) {
    const double time = std::min({engine.time_left(), link.time_left(Link::kIn), link.time_left(Link::kOut)});
    if (time == std::numeric_limits<double>::infinity()) {
      throw std::logic_error("the simulation cannot go on: a policy makes no room");
    }
    bool ended[2];
    link.advance(time, ended);
    engine.advance(time, ended[Link::kIn], ended[Link::kOut]);
    ++events;
  }
  Simulation result = engine.result();
  result.events = events;
  return result;
}

}  // namespace tferry::analyzer
