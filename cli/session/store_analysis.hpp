#pragma once

#include "analyzer/session/analysis.hpp"
#include "analyzer/session/contention_analysis.hpp"

#include <filesystem>
#include <span>

namespace tferry::cli {

/// Writes the session `from` with this analysis in it to `to`, which may be the same: a copy is built beside
/// `to` and renamed, so that readers see the old file or the new one. What is unknown goes into meta
/// `analysis.unknown`, of contention into `contention.unknown`, a sentence a line. Without `contention` what
/// is known about it stays. Throws trace::SessionError; `to` is then as it was.
void store_analysis(std::span<const analyzer::RankAnalysis> ranks,
                    const analyzer::ContentionAnalysis* contention, const std::filesystem::path& from,
                    const std::filesystem::path& to, bool force);

}  // namespace tferry::cli
