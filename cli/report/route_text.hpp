#pragma once

#include <optional>
#include <string>

namespace tferry::cli {

/// By which links contents move, in words; `route` as plans, bounds and runs have it (unset: direct).
inline std::string route_text(const std::optional<std::string>& route) {
  const std::string way = route.value_or("direct");
  if (way == "neighbour") return "by a neighbour's link";
  if (way == "both") return "by its own and a neighbour's link";
  if (way == "left") return "by a neighbour's link until that was given up, then by its own";
  return "by its own link";
}

}  // namespace tferry::cli
