#include "gui/testing/analyzed_golden.hpp"

#include "analyzer/session/analysis.hpp"
#include "analyzer/session/store.hpp"
#include "trace/test_directory.hpp"

#include <filesystem>

namespace tferry::gui {
namespace {

std::string make(const std::string& path) {
  std::filesystem::copy_file(TFERRY_GOLDEN_SESSION, path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  analyzer::AnalysisOptions options;
  options.oversubscription = 1.5;
  std::vector<analyzer::RankAnalysis> ranks;
  {
    trace::Session session = trace::Session::open(path);
    ranks = analyzer::analyze_session(session, options);
  }
  trace::SessionWriter writer = trace::SessionWriter::edit(path);
  analyzer::store_analysis(writer, ranks);
  writer.set_meta("analysis.created", "by a test");
  writer.publish();
  return path;
}

}  // namespace

const std::string& analyzed_golden() {
  static const trace::TestDirectory directory;
  static const std::string path = make(directory / "gpt2.tferry");
  return path;
}

}  // namespace tferry::gui
