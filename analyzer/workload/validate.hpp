#pragma once

#include "analyzer/workload/workload.hpp"

#include <stdexcept>
#include <string>

namespace tferry::analyzer {

/// A workload that contradicts itself or cannot be run. The message begins with the place, as in
/// "operations[3].accesses[0].tensor: ...".
class WorkloadError : public std::runtime_error {
 public:
  WorkloadError(const std::string& place, const std::string& what)
      : std::runtime_error(place + ": " + what) {}
};

/// Sizes beyond these are taken for damage.
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;
inline constexpr std::int64_t kMaxNanoseconds = std::int64_t{1} << 50;
inline constexpr std::size_t kMaxOperations = 10'000'000;

/// Throws WorkloadError unless: there are operations; sizes are positive, times not negative, neither absurd,
/// nor their sums; indices exist; no tensor that is not persistent is touched outside its life; rates are
/// positive and the duplex corner lies within the one-way rates and is of use (some traffic both ways beats
/// taking turns); the budget is positive and holds the working set of every operation.
void validate(const Workload& workload);

}  // namespace tferry::analyzer
