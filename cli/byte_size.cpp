#include "cli/byte_size.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tferry::cli {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::int64_t kKi = 1024, kKilo = 1000;
constexpr std::array kUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"KiB", kKi},
    Unit{"MiB", kKi* kKi},
    Unit{"GiB", kKi* kKi* kKi},
    Unit{"TiB", kKi* kKi* kKi* kKi},
    Unit{"K", kKi},
    Unit{"M", kKi* kKi},
    Unit{"G", kKi* kKi* kKi},
    Unit{"T", kKi* kKi* kKi* kKi},
    Unit{"kB", kKilo},
    Unit{"KB", kKilo},
    Unit{"MB", kKilo* kKilo},
    Unit{"GB", kKilo* kKilo* kKilo},
    Unit{"TB", kKilo* kKilo* kKilo* kKilo},
};
constexpr std::size_t kMaxDecimals = 6;

[[noreturn]] void reject(std::string_view text, std::string_view option, std::string_view why) {
  throw Failure(fmt::format("{}: \"{}\" is not a size: {}", option, text, why),
                "write a number and a unit, for example 9.8GiB, 512MiB or 10522669875");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::int64_t parse_bytes(std::string_view text, std::string_view option) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == 0) reject(text, option, text.empty() ? "it is empty" : "it does not begin with a digit");
  std::int64_t whole = 0;
  if (std::from_chars(text.data(), text.data() + end, whole).ec != std::errc{}) {
    reject(text, option, "it is too large");
  }

  std::string_view decimals;
  if (end < text.size() && text[end] == '.') {
    const std::size_t first = ++end;
    while (end < text.size() && is_digit(text[end])) ++end;
    decimals = text.substr(first, end - first);
    if (decimals.empty()) reject(text, option, "no digit follows the point");
    if (decimals.size() > kMaxDecimals) reject(text, option, "it has more than six decimals");
  }

  for (const Unit& unit : kUnits) {
    if (unit.name != text.substr(end)) continue;
    if (!decimals.empty() && unit.bytes == 1) reject(text, option, "bytes have no fraction");
    if (whole > std::numeric_limits<std::int64_t>::max() / unit.bytes)
      reject(text, option, "it is too large");
    std::int64_t fraction = 0, scale = 1;
    for (const char c : decimals) {
      fraction = fraction * 10 + (c - '0');
      scale *= 10;
    }
    // fraction < 10^6 and unit <= 2^40, so the product stays below 2^60.
    const std::int64_t rest = fraction * unit.bytes / scale;
    if (whole * unit.bytes > std::numeric_limits<std::int64_t>::max() - rest) {
      reject(text, option, "it is too large");
    }
    return whole * unit.bytes + rest;
  }
  reject(text, option, fmt::format("the unit \"{}\" is unknown", text.substr(end)));
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024.0 && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  const int decimals = std::abs(value) < 10.0 ? 2 : std::abs(value) < 100.0 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kNames[unit]);
}

std::string format_bytes_exact(std::int64_t bytes) {
  return fmt::format("{} ({} bytes)", format_bytes(bytes), bytes);
}

}  // namespace tferry::cli
