#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <optional>

namespace tferry::cli {

/// What programs did to memory pools besides allocating from them, each pool's calls of one kind in one row;
/// none where they did nothing.
std::optional<Table> pools_table(const Scope& scope);

}  // namespace tferry::cli
