#pragma once

#include "analyzer/session/analysis.hpp"

#include <filesystem>
#include <span>

namespace tferry::cli {

/// Writes the session `from` with this analysis in it to `to`, which may be the same: a copy is built beside
/// `to` and renamed, so that readers see the old file or the new one. What is unknown goes into meta
/// `analysis.unknown`, a sentence a line. Throws trace::SessionError; `to` is then as it was.
void store_analysis(std::span<const analyzer::RankAnalysis> ranks, const std::filesystem::path& from,
                    const std::filesystem::path& to, bool force);

}  // namespace tferry::cli
