#include "trace/flat_plan.hpp"

#include <type_traits>

namespace tferry::trace {
namespace {

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
class Fnv {
 public:
  explicit Fnv(char kind) { add_byte(static_cast<std::uint8_t>(kind)); }
  Fnv() = default;

  Fnv& add(std::string_view text) {
    for (const char byte : text) add_byte(static_cast<std::uint8_t>(byte));
    return *this;
  }
  template <typename T>
    requires std::is_integral_v<T>
  Fnv& add(T value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof bits; ++i, bits >>= 8) add_byte(static_cast<std::uint8_t>(bits));
    return *this;
  }
  /// 0 means "no signature" to readers, so nothing hashes to it.
  std::uint64_t value() const { return hash_ == 0 ? 1 : hash_; }

 private:
  void add_byte(std::uint8_t byte) { hash_ = (hash_ ^ byte) * 0x100'0000'01b3; }
  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;
};

}  // namespace

std::uint64_t OperationSignature::name_hash(std::string_view kernel) { return Fnv().add(kernel).value(); }

std::uint64_t OperationSignature::launch(std::string_view kernel, std::array<std::uint32_t, 3> grid,
                                         std::array<std::uint32_t, 3> block) {
  return launch(name_hash(kernel), grid, block);
}

std::uint64_t OperationSignature::launch(std::uint64_t kernel_hash, std::array<std::uint32_t, 3> grid,
                                         std::array<std::uint32_t, 3> block) {
  Fnv hash('l');
  hash.add(kernel_hash);
  for (const std::uint32_t extent : grid) hash.add(extent);
  for (const std::uint32_t extent : block) hash.add(extent);
  return hash.value();
}

std::uint64_t OperationSignature::copy(std::int64_t bytes) { return Fnv('c').add(bytes).value(); }
std::uint64_t OperationSignature::memset(std::int64_t bytes) { return Fnv('s').add(bytes).value(); }
std::uint64_t OperationSignature::graph() { return Fnv('g').value(); }

}  // namespace tferry::trace
