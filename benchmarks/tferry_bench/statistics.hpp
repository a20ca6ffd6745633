#pragma once

#include <vector>

namespace tferry::benchmarks {

/// Middle value, or the mean of the two middle ones. `samples` must not be empty.
double median(std::vector<double> samples);

/// A median with a confidence interval that assumes nothing about the distribution but independence: the
/// order statistics x_(k) and x_(n+1-k) enclose the true median with probability 1 - 2 P(Binomial(n, 1/2) <
/// k). k is the largest for which that is at least 95 %; below six samples no k is, the interval is the whole
/// range, and `coverage` says what it is worth. (David, Nagaraja: Order Statistics, section 7.1.)
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
  double coverage = 0;  ///< probability, 0 for a single sample
};

/// `samples` must not be empty.
Interval median_interval(std::vector<double> samples);

}  // namespace tferry::benchmarks
