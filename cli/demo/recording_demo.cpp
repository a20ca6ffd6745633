#include "cli/demo/recording_demo.hpp"

#include "analyzer/session/analysis.hpp"
#include "cli/failure.hpp"
#include "cli/job/installation.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/report/render.hpp"
#include "cli/report/reports.hpp"
#include "cli/session/store_analysis.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <system_error>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "gpt2.tferry";
constexpr double kOversubscription = 1.5;
constexpr std::int64_t kRows = 5;

}  // namespace

std::optional<fs::path> find_recording(const Installation& installation) {
  const fs::path installed = installation.program().parent_path().parent_path() / "share" / "tferry" / kName;
  for (const fs::path& candidate : {installed, fs::path(TFERRY_GOLDEN_DIR) / kName}) {
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

void show_recording(const fs::path& recording) {
  const RunDirectory scratch(RunDirectory::places_on_disk());
  const fs::path copy = scratch.path() / recording.filename();
  analyzer::AnalysisOptions options;
  options.oversubscription = kOversubscription;
  std::vector<analyzer::RankAnalysis> ranks;
  {
    trace::Session session = trace::Session::open(recording.string());
    ranks = analyzer::analyze_session(session, options);
  }
  store_analysis(ranks, nullptr, recording, copy, false);
  trace::Session session = trace::Session::open(copy.string());
  const Scope scope(session, {.gpu = {}, .rank = {}, .from = {}, .to = {}, .top = kRows});
  std::vector<Table> tables;
  for (const auto make : {report_summary, report_kernels, report_memory, report_analysis, report_quality}) {
    for (Table& table : make(scope)) tables.push_back(std::move(table));
  }
  fmt::print("{}", render(tables, Format::kTable, recording.string()));
  std::fflush(stdout);
}

}  // namespace tferry::cli
