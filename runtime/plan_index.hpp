#pragma once

#include "trace/flat_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tferry::runtime {

/// A flat plan with what is looked up in it at every operation. Immutable; any thread.
class PlanIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// Longer windows of signatures are not compared: where so many operations in a row occur twice in an
  /// iteration, the position is not told by them.
  static constexpr std::size_t kLongestWindow = 32;

  /// `plan` passed trace::flat_plan_error.
  explicit PlanIndex(trace::FlatPlan plan);

  const trace::FlatPlan& plan() const { return plan_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(plan_.operations.size()); }
  std::uint64_t signature(std::uint32_t position) const { return plan_.operations[position].signature; }

  /// Tensors that the operation names.
  std::span<const std::uint32_t> names(std::uint32_t position) const;
  /// Per-iteration tensors that no operation before this one names, by size and ordinal.
  std::span<const std::uint32_t> first_named(std::uint32_t position) const;
  std::uint32_t first_naming(std::uint32_t tensor) const { return first_naming_[tensor]; }
  std::span<const trace::FlatPlan::Step> leaves(std::uint32_t position) const;
  std::span<const trace::FlatPlan::Step> returns(std::uint32_t position) const;
  /// Plan chunks of a tensor at one of its addresses.
  std::span<const std::uint32_t> places(std::uint32_t tensor, std::uint32_t address) const;

  /// Positions with this signature, rising.
  std::span<const std::uint32_t> positions(std::uint64_t signature) const;
  /// How many operations in a row, up to and including this one, occur nowhere else in the iteration in this
  /// order; 0: more than kLongestWindow. Windows reach back around the iteration's beginning.
  std::uint32_t telling_window(std::uint32_t position) const { return telling_window_[position]; }

  /// Per-iteration tensors of exactly this many bytes, by ordinal.
  std::span<const std::uint32_t> of_size(std::int64_t bytes) const;
  /// The tensor that the iteration's allocation number `ordinal` of that size is; kNone: not of the plan.
  std::uint32_t tensor_of(std::int64_t bytes, std::int64_t ordinal) const;

  /// The first entry of a tensor's pieces in what `away_before` returns.
  std::size_t first_piece(std::uint32_t tensor) const { return first_piece_[tensor]; }
  /// For every piece of every tensor whether the plan has it in host memory just before the return steps of
  /// this position.
  std::vector<bool> away_before(std::uint32_t position) const;

 private:
  void index_operations();
  void index_tensors();
  void find_telling_windows();

  trace::FlatPlan plan_;
  std::vector<std::uint32_t> first_naming_;
  std::vector<std::uint32_t> first_named_;  ///< sorted by position, then size and ordinal
  std::vector<std::size_t> first_named_at_;
  std::vector<std::size_t> leaves_at_;
  std::vector<std::size_t> returns_at_;
  std::vector<std::size_t> first_piece_;
  std::vector<std::uint32_t> telling_window_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> positions_;
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> of_size_;
};

}  // namespace tferry::runtime
