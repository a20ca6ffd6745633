#pragma once

#include "benchmarks/tferry_bench/repository.hpp"

#include <string>

namespace tferry::benchmarks {

/// One line a result: claim, median with interval, target, verdict, kind. For terminals.
std::string summary_table(const Repository& repository);

/// The same as a page for docs/, every figure followed by its marker, so that `check` sees when the page is
/// stale.
std::string summary_markdown(const Repository& repository);

}  // namespace tferry::benchmarks
