#include "cli/calibration/machine_routes.hpp"

#include "cli/calibration/calibration_files.hpp"
#include "cli/session/host_facts.hpp"

#include <algorithm>

namespace tferry::cli {
namespace {

void take_least(std::optional<trace::RouteRates>& least, const std::optional<trace::RouteRates>& one) {
  if (!one) return;
  if (!least) least = one;
  least->h2d = std::min(least->h2d, one->h2d);
  least->d2h = std::min(least->d2h, one->d2h);
  least->both = std::min(least->both, one->both);
}

}  // namespace

analyzer::RouteFigures slowest_routes(const trace::Calibration& calibration) {
  analyzer::RouteFigures least;
  for (const trace::CalibratedGpu& gpu : calibration.gpus) {
    const analyzer::RouteFigures figures = analyzer::route_figures(calibration, gpu.ordinal);
    take_least(least.neighbour, figures.neighbour);
    take_least(least.both, figures.both);
  }
  return least;
}

analyzer::RouteFigures routes_of_this_machine(const Environment& environment) {
  const HostFacts facts = read_host_facts();
  for (const PcieLink& link : facts.links) {
    if (!link.gpu) continue;
    const auto found = find_calibration_at(calibration_folder(environment), facts.host, link.address);
    if (found) return slowest_routes(*found);
  }
  return {};
}

}  // namespace tferry::cli
