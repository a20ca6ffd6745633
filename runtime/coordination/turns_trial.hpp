#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::runtime {

/// Tries out, once a plan is followed, whether iterations are faster with turns than without, so that
/// measurement can overrule what simulations chose. All ranks do so in the same iterations, which they count
/// alike: the first few settle, then some are timed with turns, then as many without. Pure logic; under the
/// coordinator's lock.
class TurnsTrial {
 public:
  static constexpr std::uint64_t kSettling = 3;  ///< iterations after a change that do not count
  static constexpr std::uint64_t kTimed = 6;
  static constexpr double kTolerated = 1.01;  ///< turns stay unless they are slower than that

  struct Times {
    std::int64_t with_ns = 0;  ///< medians
    std::int64_t without_ns = 0;
  };

  /// The plan is followed from that iteration on. Only the first call counts.
  void begin(std::uint64_t iteration);
  /// Whether what is submitted in that iteration takes turns.
  bool turns_in(std::uint64_t iteration) const;
  void took(std::uint64_t iteration, std::int64_t ns);
  /// Once enough is known.
  std::optional<Times> times() const;

  /// Of all ranks' times: those of the slowest count, since the others wait for it.
  static bool turns_pay(const std::vector<Times>& ranks);

 private:
  static constexpr std::uint64_t kWithout = kSettling + kTimed;  ///< iterations after the first
  static constexpr std::uint64_t kEnd = kWithout + kSettling + kTimed;

  std::optional<std::uint64_t> first_;
  std::vector<std::int64_t> with_, without_;
};

}  // namespace tferry::runtime
