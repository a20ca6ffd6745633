// Damaged, empty, huge, future and locked sessions: a message in the window, never a crash or an endless
// wait.
#include "gui/testing/session_maker.hpp"
#include "gui/testing/window_fixture.hpp"

#include <filesystem>
#include <memory>

namespace tferry::gui {
namespace {

struct Trouble {
  const char* name;
  const char* message;
};

class TroubledSessionTest : public MainWindowTest, public ::testing::WithParamInterface<Trouble> {};

TEST_P(TroubledSessionTest, IsAMessageInTheWindow) {
  const std::string path = directory_ / "s.tferry";
  const std::string name = GetParam().name;
  SessionMaker(path).kernel("k", 0, 1).publish();
  std::unique_ptr<trace::Database> lock;
  if (name == "missing") std::filesystem::remove(path);
  if (name == "empty") trace::spew(path, "");
  if (name == "text") trace::spew(path, std::string(5000, 'x'));
  if (name == "truncated") std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  if (name == "newer")
    trace::Database(path, trace::Database::Mode::kReadWrite).execute("PRAGMA user_version=99");
  if (name == "locked") {
    lock = std::make_unique<trace::Database>(path, trace::Database::Mode::kReadWrite);
    lock->execute("BEGIN EXCLUSIVE");
  }
  open(path);
  EXPECT_TRUE(window_.view()->has_failed());
  EXPECT_TRUE(window_.view()->message().contains(QString::fromUtf8(GetParam().message)))
      << window_.view()->message().toStdString();
}

/// Figures beyond all reason: nothing may overflow into a crash or an endless loop.
void write_huge(const std::string& path) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  SessionMaker maker(path);
  maker.kernel("first", 0, 1).copy_in(kMost, 0, 10).copy_in(kMost, 10, 20).allocation(kMost, 0, 5);
  maker.allocation(kMost, 0, 5);
  trace::KernelRow kernel;
  kernel.process_id = kernel.device_id.emplace(1);
  kernel.stream_id = 3;
  kernel.start_ns = 1;
  kernel.end_ns = kMost;
  kernel.name_id = maker.writer().intern(std::string(100'000, 'n'));
  maker.writer().insert(kernel);
  kernel.start_ns = kMost;
  kernel.end_ns = 5;  // before it began
  maker.writer().insert(kernel);
  maker.counter("pcie__read_bytes.sum", 1e300, 0, 1).marker("range", 0, kMost / 2000);
  maker.publish();
}

TEST_F(MainWindowTest, ASessionWithHugeFiguresIsShownWithoutOverflowing) {
  const std::string path = directory_ / "huge.tferry";
  write_huge(path);
  open(path);
  EXPECT_FALSE(window_.view()->has_failed()) << window_.view()->message().toStdString();
  for (const Qt::Key pressed :
       {Qt::Key_W, Qt::Key_W, Qt::Key_S, Qt::Key_A, Qt::Key_Home, Qt::Key_P, Qt::Key_Down, Qt::Key_Return,
        Qt::Key_BracketRight, Qt::Key_F, Qt::Key_M, Qt::Key_M})
    key(pressed);
  for (const char* name : {"summary", "memory", "kernels", "transfers", "waterfall", "advice"}) report(name);
}

TEST_F(MainWindowTest, ASessionWithVeryManyLanesIsShown) {
  const std::string path = directory_ / "many.tferry";
  SessionMaker maker(path);
  for (std::int64_t stream = 100; stream < 900; ++stream) {
    trace::StreamRow row;
    row.id = stream;
    row.process_id = 1;
    row.device_id = 1;
    maker.writer().insert(row);
    trace::KernelRow kernel;
    kernel.process_id = kernel.device_id.emplace(1);
    kernel.stream_id = stream;
    kernel.start_ns = SessionMaker::at(stream);
    kernel.end_ns = SessionMaker::at(stream + 50);
    maker.writer().insert(kernel);
  }
  maker.publish();
  open(path);
  EXPECT_EQ(window_.view()->overview()->lanes.size(), 800u);
  for (const Qt::Key pressed : {Qt::Key_PageDown, Qt::Key_W, Qt::Key_Down, Qt::Key_PageUp, Qt::Key_Home})
    key(pressed);
}

INSTANTIATE_TEST_SUITE_P(Sessions, TroubledSessionTest,
                         ::testing::Values(Trouble{"missing", "cannot open"}, Trouble{"empty", "is empty"},
                                           Trouble{"text", "not an SQLite database"},
                                           Trouble{"truncated", "truncated"},
                                           Trouble{"newer", "schema version 99"},
                                           Trouble{"locked", "wait until"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(MainWindowTest, ASessionWithoutEventsIsShownAsOne) {
  const std::string path = directory_ / "none.tferry";
  trace::SessionWriter::create(path).publish();
  open(path);
  EXPECT_FALSE(window_.view()->has_failed());
  EXPECT_TRUE(window_.view()->overview()->lanes.empty());
  key(Qt::Key_W);
  key(Qt::Key_P);
  key(Qt::Key_BracketRight);
}

}  // namespace
}  // namespace tferry::gui
