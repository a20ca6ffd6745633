#pragma once

#include <string>
#include <string_view>

namespace tferry::analyzer {

/// The SHA-256 digest (FIPS 180-4) of these bytes, as 64 lower-case hexadecimal digits. Any thread.
std::string sha256(std::string_view bytes);

}  // namespace tferry::analyzer
