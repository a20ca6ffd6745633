#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// Where each distinct run of `length` consecutive signatures occurs in a sequence.
///
/// Runs are told apart by a 64-bit hash, so two different ones are taken for the same with probability below
/// 1e-7 for a million entries. Building is linear in time and memory. Immutable afterwards: any thread may
/// read.
class NgramIndex {
 public:
  /// The sequence is not kept. A sequence shorter than `length` has no runs. `length` is at least 1 and the
  /// sequence has fewer than 2^32 entries.
  NgramIndex(std::span<const std::uint32_t> sequence, std::size_t length);

  std::size_t length() const { return length_; }
  /// Number of positions at which a run begins.
  std::size_t positions() const { return kind_at_.size(); }
  /// Number of distinct runs; kinds are 0 .. kinds() - 1 in order of first occurrence.
  std::size_t kinds() const { return begin_.size() - 1; }
  std::uint32_t kind_at(std::size_t position) const { return kind_at_[position]; }
  /// Ascending.
  std::span<const std::uint32_t> occurrences(std::size_t kind) const {
    return {occurrences_.data() + begin_[kind], begin_[kind + 1] - begin_[kind]};
  }

 private:
  std::size_t length_;
  std::vector<std::uint32_t> kind_at_;
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> occurrences_;
};

}  // namespace tferry::analyzer
