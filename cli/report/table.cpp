#include "cli/report/table.hpp"

#include <array>

namespace tferry::cli {
namespace {

constexpr std::array kKnownBy = {"measured", "simulated", "emulated", "learned", "assumed", "unknown"};
constexpr std::array kUnits = {"", "count", "ns", "bytes", "bytes/s", "share", "hertz"};

}  // namespace

const char* unit_name(Unit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

const char* known_by_name(KnownBy known_by) { return kKnownBy[static_cast<std::size_t>(known_by)]; }

KnownBy known_by_of(const std::string& name) {
  for (std::size_t i = 0; i < kKnownBy.size(); ++i) {
    if (name == kKnownBy[i]) return static_cast<KnownBy>(i);
  }
  return KnownBy::kUnknown;
}

}  // namespace tferry::cli
