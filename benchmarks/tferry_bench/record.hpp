#pragma once

#include "benchmarks/tferry_bench/repository.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tferry::benchmarks {

/// The results in a raw file (schema tferry.raw/1): every entry of "measurements", with the file's date, git
/// revision and machine, and the target that targets.json names for its claim. `git` stands in where the raw
/// file names no revision (a GPU machine may have no git). Throws BadResult naming the defective entry.
std::vector<Result> results_from_raw(const nlohmann::json& raw, const Repository& repository,
                                     const std::string& git);

/// A file that says not_run for every target that has none.
std::vector<Result> missing_results(const Repository& repository);

}  // namespace tferry::benchmarks
