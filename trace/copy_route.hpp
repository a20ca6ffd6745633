#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tferry::trace {

/// By which links a GPU's parked contents come and go.
struct CopyRoute {
  enum class Way {
    kDirect,     ///< "direct", "auto": by the GPU's own link
    kNeighbour,  ///< "neighbour": all by a neighbour's link, and by NVLink from and to it
    kBoth        ///< "both": each copy in two parts
  };
  Way way = Way::kDirect;
  int via = -1;  ///< ordinal of the neighbour as the process sees it; -1: the next one that can be reached
};

/// Of a copy by both ways, the part of 32 that goes by the neighbour: a little less than half, since that
/// part begins and ends later by the way of its first and last piece over NVLink.
inline constexpr std::size_t kRelayedOf32 = 15;

/// "direct", "neighbour", "both".
std::string_view route_name(CopyRoute::Way way);
/// The way of that name; nothing for other text.
std::optional<CopyRoute::Way> route_named(std::string_view name);

/// "direct", "auto", "neighbour", "both", the last two with ":N" for GPU N; several with commas between are
/// for the local ranks in turn. Nothing for other text.
std::optional<CopyRoute> parse_copy_route(std::string_view text, int local_rank);

}  // namespace tferry::trace
