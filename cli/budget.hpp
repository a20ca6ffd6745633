#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::cli {

/// How much GPU memory the job's allocations may hold, per device, as `--budget` says it:
/// `auto` (what the card has free, less a reserve), `unlimited`, a size, `80%` of the card, or one size per
/// device as `0:24GiB,1:40GiB`. Immutable.
class Budget {
 public:
  enum class Kind { kAuto, kUnlimited, kBytes, kPercent, kPerDevice };
  struct Share {
    int device;
    std::int64_t bytes;
  };

  /// Throws Failure for whatever is not one of the forms above: zero, more than 100 per cent, a device twice
  /// or out of range, or a size that parse_bytes rejects.
  static Budget parse(std::string_view text);

  Kind kind() const noexcept { return kind_; }
  /// Bytes of kBytes, ten thousandths of the card for kPercent, otherwise 0.
  std::int64_t amount() const noexcept { return amount_; }
  const std::vector<Share>& shares() const noexcept { return shares_; }

  /// The form that the runtime library reads from TFERRY_BUDGET; see trace/job_environment.hpp.
  std::string to_environment() const;
  /// For people: "9.80 GiB (10522669875 bytes)", "80% of the card".
  std::string describe() const;

 private:
  Budget(Kind kind, std::int64_t amount, std::vector<Share> shares);

  Kind kind_;
  std::int64_t amount_;
  std::vector<Share> shares_;
};

}  // namespace tferry::cli
