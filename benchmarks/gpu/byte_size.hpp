#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace tferry::benchmarks {

/// "1073741824", "1024MiB", "9.8GiB" as bytes; nothing for anything else.
inline std::optional<std::uint64_t> parse_byte_size(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  double factor = 0;
  if (unit.empty() || unit == "B") factor = 1;
  if (unit == "KiB") factor = 1024.0;
  if (unit == "MiB") factor = 1024.0 * 1024;
  if (unit == "GiB") factor = 1024.0 * 1024 * 1024;
  const double bytes = number * factor;
  if (end == text.c_str() || factor == 0 || !(bytes >= 0) || bytes > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(bytes));
}

}  // namespace tferry::benchmarks
