// Each question that people ask, answered by the keystrokes of tests/gui/tasks/ in at most two steps.
#include "gui/app/key_script.hpp"
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/window_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace tferry::gui {
namespace {

class TaskTest : public MainWindowTest, public ::testing::WithParamInterface<std::string> {};

/// The session that a script is about: its first line may name one, "# session: contended"; else the golden
/// one.
const std::string& session_of(const std::string& script) {
  const std::string text = trace::slurp(script);
  if (text.starts_with("# session: contended\n")) return contended_session();
  if (text.starts_with("# session: planned\n")) return planned_session();
  return analyzed_golden();
}

TEST_P(TaskTest, IsDoneInTheStepsThatAreAllowed) {
  const std::string file = std::string(TFERRY_TASKS) + "/" + GetParam() + ".keys";
  open(session_of(file));
  KeyScript script(window_, QString::fromStdString(file));
  bool finished = false;
  QObject::connect(&script, &KeyScript::finished, [&] { finished = true; });
  script.start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return finished; }, 60'000));
  EXPECT_EQ(script.failures().join(QLatin1Char('\n')).toStdString(), "");
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TFERRY_TASKS)) {
    if (entry.path().extension() == ".keys") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks, TaskTest, ::testing::ValuesIn(task_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tferry::gui
