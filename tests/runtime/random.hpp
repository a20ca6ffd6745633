#pragma once

#include <cstdint>
#include <random>

namespace tferry::runtime_test {

/// The same numbers for a seed everywhere, which the standard library's distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 0 to `end` - 1.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(engine_() % end); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tferry::runtime_test
