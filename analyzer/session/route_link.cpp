#include "analyzer/session/route_link.hpp"

#include "analyzer/session/read_recording.hpp"
#include "trace/session_rows.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

using Way = trace::CopyRoute::Way;

// Over the own link's, as measured on two H200s of one host: docs/results/coordination.md.
constexpr double kBothIn = 1.96, kBothOut = 1.97, kBothWays = 1.76;
constexpr double kNeighbourIn = 54.3 / 55.2, kNeighbourOut = 54.3 / 55.1;
/// A piece of 4 MiB over NVLink (382 GB/s there): the last one of a copy in, the first one of a copy out.
constexpr double kPieceNs = (4 << 20) / 382.0;

/// Both ways at once in the proportion of each alone.
LinkRates rates(double in, double out, double both) {
  both = std::clamp(both, std::max(in, out), in + out);
  LinkRates link;
  link.in = in;
  link.out = out;
  link.duplex_in = std::min(in, both * in / (in + out));
  link.duplex_out = std::min(out, both * out / (in + out));
  return link;
}

LinkRates rates(const trace::RouteRates& measured) {
  return rates(measured.h2d * 1e-9, measured.d2h * 1e-9, measured.both * 1e-9);
}

/// Of a way with `sum` by both links, of which `relayed` by the neighbour's: what copies in two parts reach.
double reached(double sum, double relayed) {
  constexpr double kRelayed = static_cast<double>(trace::kRelayedOf32) / 32;
  if (relayed <= 0 || relayed >= sum) relayed = sum / 2;
  return std::min({1.0, (sum - relayed) / (1 - kRelayed) / sum, relayed / kRelayed / sum});
}

std::optional<trace::RouteRates> stored(trace::Session& session, std::int64_t device_id, Way way) {
  const auto row = session.first<trace::LinkRow>(
      "WHERE device_id = ? AND kind = ? AND h2d_bytes_per_second > 0 AND d2h_bytes_per_second > 0 AND "
      "duplex_h2d_bytes_per_second > 0 AND duplex_d2h_bytes_per_second > 0",
      device_id, std::string(trace::route_name(way)));
  if (!row) return std::nullopt;
  return trace::RouteRates{-1, *row->h2d_bytes_per_second, *row->d2h_bytes_per_second,
                           *row->duplex_h2d_bytes_per_second + *row->duplex_d2h_bytes_per_second};
}

RouteFigures of_machine(const std::string& uuid, const CalibrationOf& machine) {
  const auto calibration = machine ? machine(uuid) : std::nullopt;
  if (!calibration) return {};
  for (const trace::CalibratedGpu& gpu : calibration->gpus) {
    if (gpu.uuid == uuid) return route_figures(*calibration, gpu.ordinal);
  }
  return {};
}

}  // namespace

RouteFigures route_figures(const trace::Calibration& calibration, int gpu) {
  return {trace::route_rates(calibration, gpu, Way::kNeighbour),
          trace::route_rates(calibration, gpu, Way::kBoth)};
}

RouteLink route_link(const RouteLink& own, Way way, const RouteFigures& measured) {
  const LinkRates& link = own.rates;
  RouteLink route;
  route.known_by = (way == Way::kBoth ? measured.both : measured.neighbour) ? "measured" : "assumed";
  switch (way) {
    case Way::kDirect:
      return own;
    case Way::kNeighbour:
      route.rates = measured.neighbour ? rates(*measured.neighbour)
                                       : rates(kNeighbourIn * link.in, kNeighbourOut * link.out,
                                               kNeighbourIn * (link.duplex_in + link.duplex_out));
      route.rates.copy_ns = kPieceNs;
      break;
    case Way::kBoth:
      route.rates = measured.both ? rates(*measured.both)
                                  : rates(kBothIn * link.in, kBothOut * link.out,
                                          kBothWays * (link.duplex_in + link.duplex_out));
      // Of what was measured of the neighbour's link, its part beside the own one is not known.
      route.rates.reached = reached(route.rates.in, 0);
      if (measured.both && measured.neighbour) {
        route.rates.reached = std::min(reached(route.rates.in, measured.neighbour->h2d * 1e-9),
                                       reached(route.rates.out, measured.neighbour->d2h * 1e-9));
      }
      break;
  }
  return route;
}

RouteLink session_route_link(trace::Session& session, std::int64_t device_id, Way way,
                             const CalibrationOf& machine) {
  RouteLink own;
  own.rates = link_rates(session, device_id, &own.known_by);
  if (way == Way::kDirect) return own;
  RouteFigures figures{stored(session, device_id, Way::kNeighbour), stored(session, device_id, Way::kBoth)};
  if (!(way == Way::kBoth ? figures.both : figures.neighbour)) {
    const auto device = session.first<trace::DeviceRow>("WHERE id = ?", device_id);
    if (device) figures = of_machine(device->uuid, machine);
  }
  return route_link(own, way, figures);
}

}  // namespace tferry::analyzer
