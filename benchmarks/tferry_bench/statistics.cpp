#include "benchmarks/tferry_bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace tferry::benchmarks {
namespace {

constexpr double kConfidence = 0.95;

double sorted_median(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/// Binomial(n, 1/2): the probability of exactly k.
double binomial_half(double n, double k) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("median of no samples");
  std::sort(samples.begin(), samples.end());
  return sorted_median(samples);
}

Interval median_interval(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("interval of no samples");
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  std::size_t rank = 1;
  double below = binomial_half(n, 0);
  while (2 * rank < samples.size()) {
    const double next = below + binomial_half(n, static_cast<double>(rank));
    if (1 - 2 * next < kConfidence) break;
    below = next;
    ++rank;
  }
  return {sorted_median(samples), samples[rank - 1], samples[samples.size() - rank],
          std::max(0.0, 1 - 2 * below)};
}

}  // namespace tferry::benchmarks
