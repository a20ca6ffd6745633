#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tferry::cli {

/// Reads a size as people write it: digits, at most six decimals, and a unit: none or B (bytes), KiB MiB GiB
/// TiB or K M G T (powers of 1024), kB KB MB GB TB (powers of 1000). A fraction of a byte is dropped. Throws
/// Failure, naming `option`, for anything else: signs, spaces, exponents, overflow, a fraction of bytes.
std::int64_t parse_bytes(std::string_view text, std::string_view option);

/// "9.80 GiB", three digits or so, for people. Negative sizes keep their sign.
std::string format_bytes(std::int64_t bytes);

/// "9.80 GiB (10522669875 bytes)": where the exact figure matters.
std::string format_bytes_exact(std::int64_t bytes);

}  // namespace tferry::cli
