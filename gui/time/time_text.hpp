#pragma once

#include "gui/time/time_map.hpp"

#include <QString>

#include <cstdint>
#include <vector>

namespace tferry::gui {

/// A duration as a person reads it: "1.234 s", "12.3 ms", "4.56 µs", "789 ns".
QString duration_text(std::int64_t ns);
/// A point in time after the session's start, to the digit that matters when `resolution_ns` are one pixel.
QString moment_text(std::int64_t ns_after_start, double resolution_ns);
QString bytes_text(double bytes);            ///< "1.50 GiB"
QString rate_text(double bytes_per_second);  ///< "55.3 GB/s", as links are named
QString count_text(std::int64_t count);      ///< "12,345"

/// Times of the axis: multiples of 1, 2 or 5 times a power of ten, at least `pixels_apart` apart.
struct Ticks {
  std::int64_t step_ns = 1;
  std::vector<std::int64_t> times;  ///< absolute, multiples of the step after the origin
};
Ticks ticks_of(const TimeMap& map, std::int64_t origin_ns, double pixels_apart);

}  // namespace tferry::gui
