#pragma once

#include "analyzer/workload/workload.hpp"
#include "trace/calibration.hpp"
#include "trace/copy_route.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tferry::analyzer {

/// What a GPU's contents cross on their way, and how its rates are known: measured, learned, assumed.
struct RouteLink {
  LinkRates rates;
  std::string known_by;
};

/// What was measured of a way that a neighbour's link is part of; unset: nothing.
struct RouteFigures {
  std::optional<trace::RouteRates> neighbour;  ///< all by an idle neighbour's link
  std::optional<trace::RouteRates> both;       ///< by both at once
};

/// The ways of one GPU in a calibration.
RouteFigures route_figures(const trace::Calibration& calibration, int gpu);

/// What a GPU whose own link is `own` gets by this way, its neighbour idle. The rates are all that the links
/// can do together. A copy gets less of it: by both, as it is made in two parts of fixed size, the slower of
/// which ends it; by the neighbour alone, as each begins when the one before has crossed both links. Where
/// nothing was measured the own rates are taken to grow as they did on two H200s of one host
/// (docs/results/coordination.md), and are called assumed. Pure.
RouteLink route_link(const RouteLink& own, trace::CopyRoute::Way way, const RouteFigures& measured);

/// The calibration of the machine that has the GPU with this UUID.
using CalibrationOf = std::function<std::optional<trace::Calibration>(const std::string& uuid)>;

/// The same for a GPU of a session: what the session has measured, else `machine` (may be empty).
RouteLink session_route_link(trace::Session& session, std::int64_t device_id, trace::CopyRoute::Way way,
                             const CalibrationOf& machine);

}  // namespace tferry::analyzer
