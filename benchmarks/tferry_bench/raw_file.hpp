#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace tferry::benchmarks {

/// A raw file (schema tferry.raw/1) of figures that need no GPU: date, machine (processors only) and what was
/// measured. `git` may be empty; `tferry-bench record --git` fills it in.
nlohmann::json raw_file(const std::string& script, const std::string& git, nlohmann::json measurements);

/// Writes it, replacing nothing of others: throws std::runtime_error when it cannot be written.
void write_raw(const nlohmann::json& raw, const std::string& path);

}  // namespace tferry::benchmarks
