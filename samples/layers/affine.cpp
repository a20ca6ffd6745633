#include "samples/layers/affine.hpp"

namespace tferry::samples {
namespace {

__extension__ typedef unsigned __int128 Wide;

}  // namespace

Sums sums_of(const Affine& run, std::uint64_t first, std::uint64_t count) {
  if (count == 0) return {};
  const Wide n = count;
  const auto sum_j = static_cast<std::uint64_t>(n * (n - 1) / 2);
  const auto sum_j2 = static_cast<std::uint64_t>((n - 1) * n * (2 * n - 1) / 6);
  Sums sums;
  sums.plain = run.slope * sum_j + run.offset * count;
  sums.weighted =
      run.slope * sum_j2 + (run.slope * (first + 1) + run.offset) * sum_j + run.offset * (first + 1) * count;
  return sums;
}

}  // namespace tferry::samples
