#pragma once

#include "benchmarks/tferry_bench/result.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// A figure that an issue asks for, from benchmarks/targets.json.
struct WantedClaim {
  std::string claim;
  std::optional<Target> target;
  std::string origin;  ///< where it is asked for
};

/// Raw findings of experiments that decided a design; they lie beside the results and claim nothing.
inline constexpr const char* kExperimentsSchema = "tferry.experiments/1";

/// What the figures of a source tree are made of: benchmarks/targets.json, benchmarks/results/*.json but for
/// experiments (kExperimentsSchema), and the pages README.md and docs/**/*.md. Reading never stops at a
/// defective file: what is wrong with it goes into `problems`, one sentence each, beginning with the file's
/// path below the root.
struct Repository {
  std::filesystem::path root;
  std::vector<WantedClaim> targets;
  std::map<std::string, Result> results;     ///< by claim
  std::map<std::string, std::string> pages;  ///< path below the root -> contents
  std::vector<std::string> problems;

  std::filesystem::path results_folder() const { return root / "benchmarks" / "results"; }
  std::filesystem::path targets_file() const { return root / "benchmarks" / "targets.json"; }
  const WantedClaim* target_of(const std::string& claim) const;
};

/// Throws std::runtime_error only when `root` is no directory.
Repository read_repository(const std::filesystem::path& root);

/// Writes a result beside the old one and renames it. Throws std::runtime_error naming the file.
void write_result(const Repository& repository, const Result& result);

/// Throws std::runtime_error naming the file, for one that cannot be read or is no JSON.
nlohmann::json read_json(const std::filesystem::path& file);

}  // namespace tferry::benchmarks
