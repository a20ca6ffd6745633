#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace tferry::runtime {

/// Remembers after which use of an iteration memory was reclaimed, for the policy "lms-early": what left
/// after some use in an earlier iteration leaves right after that use in the next ones (the early page-out of
/// IBM's Large Model Support, Le et al., "TFLMS", 2018; the same policy as in
/// analyzer/simulator/policies.hpp).
///
/// Iterations are found by windows of operation signatures: of the windows that come back at the same
/// distance twice in a row, the one with the longest distance marks an iteration's beginning. Until there is
/// one, nothing is known and nothing leaves early. From then on it learns for kLearning iterations and no
/// longer: what leaves once more by chance would leave for ever, and the set, and with it an iteration's
/// time, would only grow (measured: 256 to 365 ms within 20 iterations). Pure logic; one thread at a time.
class ReclaimMemory {
 public:
  static constexpr std::uint64_t kUnknown = 0;

  /// The next operation is this one.
  void advance(std::uint64_t signature);
  /// What the operation's use of its `index`-th block is called, in every iteration; kUnknown: not known yet.
  std::uint64_t use(std::size_t index) const;
  /// The use happens: how many pieces should leave right after it.
  std::size_t pieces_after(std::uint64_t use);
  /// So many pieces of a block left whose last use was this one.
  void reclaimed(std::uint64_t use, std::size_t pieces);

  /// Operations of an iteration; 0: not known.
  std::uint64_t period() const { return period_; }

 private:
  static constexpr std::size_t kWindow = 16;
  static constexpr std::size_t kMostWindows = std::size_t{1} << 16;
  static constexpr std::uint64_t kForgetAfter = 8;    ///< iterations without a beginning
  static constexpr std::uint64_t kLearning = 5;       ///< iterations
  static constexpr std::uint64_t kMostBlocks = 4096;  ///< of one operation that are told apart

  struct Window {
    std::uint64_t last = 0;      ///< the operation at which it ended
    std::uint64_t distance = 0;  ///< to the time before
  };
  struct Use {
    std::size_t known = 0;  ///< pieces reclaimed after it, the most of any iteration
    std::size_t now = 0;    ///< since it last happened
  };

  std::array<std::uint64_t, kWindow> signatures_{};
  std::uint64_t operations_ = 0;
  std::unordered_map<std::uint64_t, Window> windows_;
  std::unordered_map<std::uint64_t, Use> uses_;
  std::uint64_t period_ = 0;
  std::uint64_t begins_with_ = 0;  ///< the window at an iteration's beginning
  std::uint64_t position_ = 0;
  std::uint64_t iterations_ = 0;  ///< begun since the beginning is known
};

}  // namespace tferry::runtime
