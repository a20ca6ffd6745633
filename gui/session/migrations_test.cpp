// Page faults and migrations of managed memory: each tied to what brought it about, to what it brought, and
// to the kernel that stood still.
#include "gui/session/migrations.hpp"

#include "gui/session/open_session.hpp"
#include "gui/testing/session_maker.hpp"

#include <gtest/gtest.h>

namespace tferry::gui {
namespace {

using trace::UmEventKind;

std::string plain(QString text) { return text.replace(QChar(0x202F), QLatin1Char(' ')).toStdString(); }

trace::UmEventRow um(UmEventKind kind, std::int64_t from_us, std::int64_t to_us, std::int64_t address,
                     std::optional<std::int64_t> bytes) {
  trace::UmEventRow row;
  row.process_id = 1;
  row.kind = kind;
  row.start_ns = SessionMaker::at(from_us);
  row.end_ns = SessionMaker::at(to_us);
  row.address = address;
  row.bytes = bytes;
  const bool to_host = kind == UmEventKind::kMigrationToHost;
  if (kind != UmEventKind::kCpuFault) (to_host ? row.source_device_id : row.destination_device_id) = 1;
  return row;
}

class MigrationsTest : public ::testing::Test {
 protected:
  MigrationsTest() {
    SessionMaker maker(directory_ / "s.tferry");
    maker.kernel("reader", 0, 100).kernel("next", 200, 300);
    for (const trace::UmEventRow& row : {um(UmEventKind::kGpuFault, 10, 12, 0x5000, std::nullopt),
                                         um(UmEventKind::kMigrationToDevice, 20, 30, 0x4000, 0x4000),
                                         um(UmEventKind::kMigrationToHost, 18, 19, 0x9000, 0x4000),
                                         um(UmEventKind::kCpuFault, 150, 151, 0x4100, std::nullopt),
                                         um(UmEventKind::kMigrationToHost, 152, 160, 0x4000, 0x4000),
                                         um(UmEventKind::kMigrationToDevice, 110, 120, 0x20000, 0x4000)})
      maker.writer().insert(row);
    maker.publish();
    session_ = OpenSession::open(directory_ / "s.tferry");
  }
  std::string links(std::int64_t id) {
    std::string text;
    for (const Relation& relation :
         find_relations(session_->session, *session_->names, *session_->overview, {EventTable::kUmEvent, id}))
      text += plain(relation.text) + "\n";
    return text;
  }

  trace::TestDirectory directory_;
  std::unique_ptr<OpenSession> session_;
};

TEST_F(MigrationsTest, AFaultLeadsToItsKernelAndToThePagesThatItMoved) {
  EXPECT_EQ(links(1), "reader faulted, and stood still for it\nmoved 16 KiB for it, 10 µs after\n");
}

TEST_F(MigrationsTest, AMigrationLeadsToItsFaultAndToTheKernel) {
  EXPECT_EQ(links(2),
            "a page fault brought it about, 10 µs before\nreader faulted, and stood still for it\n");
}

TEST_F(MigrationsTest, PagesThatLeaveMadeRoomForThoseThatCome) {
  EXPECT_EQ(links(3), "made room for 16 KiB\n");
}

TEST_F(MigrationsTest, AFaultOfAProcessorLeadsToWhatWentToTheHost) {
  EXPECT_EQ(links(4), "moved 16 KiB for it, 2 µs after\n");
  EXPECT_EQ(links(5), "a page fault brought it about, 2 µs before\n");
}

TEST_F(MigrationsTest, OneWithoutAFaultWasAheadOfTheKernelThatComesNext) {
  EXPECT_EQ(links(6), "next came next, 80 µs after\n");
}

TEST_F(MigrationsTest, PagesAndFaultsAreRowsOfTheirOwn) {
  const auto picture = session_->reader->read(session_->overview->range, 1);
  std::string rows;
  for (std::size_t lane = 0; lane < session_->overview->lanes.size(); ++lane) {
    if (session_->overview->lanes[lane].kind != LaneKind::kMigrations) continue;
    rows += session_->overview->lanes[lane].title.toStdString() + ":";
    for (const Item& item : picture->slices[lane]->items) rows += " " + std::to_string(item.row);
    rows += "\n";
  }
  EXPECT_EQ(rows, "CPU page faults: 0\nPage migrations, faults: 1 0 0 0 0\n");
}

}  // namespace
}  // namespace tferry::gui
