#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// Bytes added to ranges of an iteration's operations, in a time that does not depend on their length.
class OperationSums {
 public:
  explicit OperationSums(std::size_t operations) : change_(2 * operations + 1) {}

  /// To each operation in [begin, end), counted on into the next iteration; a range of at most an iteration
  /// that begins in the first or right after it.
  void add(std::size_t begin, std::size_t end, std::int64_t bytes) {
    change_[begin] += bytes;
    change_[end] -= bytes;
  }

  std::vector<std::int64_t> by_operation() const {
    const std::size_t count = change_.size() / 2;
    std::vector<std::int64_t> sums(count);
    std::int64_t now = 0;
    for (std::size_t i = 0; i < 2 * count; ++i) sums[i % count] += now += change_[i];
    return sums;
  }

 private:
  std::vector<std::int64_t> change_;
};

}  // namespace tferry::analyzer
