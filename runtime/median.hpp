#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::runtime {

/// The upper of the two in the middle where their number is even; 0 of none.
inline std::int64_t median(std::vector<std::int64_t> times) {
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace tferry::runtime
