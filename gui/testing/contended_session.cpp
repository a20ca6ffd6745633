#include "gui/testing/contended_session.hpp"

#include "analyzer/session/analysis.hpp"
#include "analyzer/session/contention_analysis.hpp"
#include "analyzer/session/store.hpp"
#include "analyzer/session/two_gpu_session.hpp"
#include "trace/test_directory.hpp"

#include <vector>

namespace tferry::gui {
namespace {

std::string make(const std::string& path) {
  analyzer::testing_support::TwoGpuSession{}.write(path);
  std::vector<analyzer::RankAnalysis> ranks;
  analyzer::ContentionAnalysis contention;
  {
    trace::Session session = trace::Session::open(path);
    ranks = analyzer::analyze_session(session, {});
    contention = analyzer::analyze_contention(session, {});
  }
  trace::SessionWriter writer = trace::SessionWriter::edit(path);
  analyzer::store_analysis(writer, ranks);
  analyzer::store_contention(writer, contention);
  writer.set_meta("analysis.created", "by a test");
  writer.publish();
  return path;
}

}  // namespace

const std::string& contended_session() {
  static const trace::TestDirectory directory;
  static const std::string path = make(directory / "two_gpus.tferry");
  return path;
}

}  // namespace tferry::gui
