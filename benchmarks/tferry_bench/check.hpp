#pragma once

#include "benchmarks/tferry_bench/repository.hpp"

#include <string>
#include <vector>

namespace tferry::benchmarks {

/// Everything that is wrong with the figures of a repository, one sentence each; empty when all is well:
/// files that cannot be understood; a median, interval or verdict that does not follow from the samples; a
/// target without a file, or a file with another target than targets.json; a figure in a page that is not the
/// file's, rounded; a marker that names no file; a result that was run and is quoted nowhere.
std::vector<std::string> check(const Repository& repository);

}  // namespace tferry::benchmarks
