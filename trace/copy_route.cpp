#include "trace/copy_route.hpp"

#include "trace/job_status.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace tferry::trace {
namespace {

std::optional<CopyRoute> parse_one(std::string_view text) {
  CopyRoute route;
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (name == "neighbour") {
    route.way = CopyRoute::Way::kNeighbour;
  } else if (name == "both") {
    route.way = CopyRoute::Way::kBoth;
  } else if ((name != "direct" && name != "auto") || colon != std::string_view::npos) {
    return std::nullopt;
  }
  if (colon == std::string_view::npos) return route;
  const std::string_view number = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), route.via);
  const bool whole = error == std::errc{} && end == number.data() + number.size();
  if (!whole || route.via < 0 || route.via >= trace::kMaxDevices) return std::nullopt;
  return route;
}

}  // namespace

std::string_view route_name(CopyRoute::Way way) {
  switch (way) {
    case CopyRoute::Way::kDirect:
      break;
    case CopyRoute::Way::kNeighbour:
      return "neighbour";
    case CopyRoute::Way::kBoth:
      return "both";
  }
  return "direct";
}

std::optional<CopyRoute::Way> route_named(std::string_view name) {
  using enum CopyRoute::Way;
  for (const CopyRoute::Way way : {kDirect, kNeighbour, kBoth}) {
    if (name == route_name(way)) return way;
  }
  return std::nullopt;
}

std::optional<CopyRoute> parse_copy_route(std::string_view text, int local_rank) {
  std::vector<CopyRoute> routes;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto route = parse_one(text.substr(0, comma));
    if (!route) return std::nullopt;
    routes.push_back(*route);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return routes[static_cast<std::size_t>(std::max(local_rank, 0)) % routes.size()];
}

}  // namespace tferry::trace
