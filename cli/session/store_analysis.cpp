#include "cli/session/store_analysis.hpp"

#include "analyzer/session/store.hpp"
#include "cli/session/edit_session.hpp"
#include "cli/session/name_allocations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

std::string unknown_lines(std::span<const analyzer::RankAnalysis> ranks) {
  std::vector<std::string> lines;
  for (const analyzer::RankAnalysis& rank : ranks) {
    for (const std::string& reason : rank.unknown) {
      if (std::find(lines.begin(), lines.end(), reason) == lines.end()) lines.push_back(reason);
    }
  }
  if (ranks.empty()) lines.emplace_back("iterations: no GPU operation was recorded");
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

void store_analysis(std::span<const analyzer::RankAnalysis> ranks,
                    const analyzer::ContentionAnalysis* contention, const fs::path& from, const fs::path& to,
                    bool force) {
  edit_session(from, to, force, [ranks, contention](trace::SessionWriter& writer) {
    analyzer::store_analysis(writer, ranks);
    carry_names_over(writer);
    writer.set_meta("analysis.created", std::string("tferry ") + TFERRY_VERSION);
    writer.set_meta("analysis.unknown", unknown_lines(ranks));
    if (contention == nullptr) return;
    analyzer::store_contention(writer, *contention);
    writer.set_meta("contention.unknown", fmt::format("{}", fmt::join(contention->unknown, "\n")));
  });
}

}  // namespace tferry::cli
