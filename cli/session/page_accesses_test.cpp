#include "cli/session/page_accesses.hpp"

#include "cli/testing/temporary_directory.hpp"
#include "trace/session_rows.hpp"
#include "trace/session_writer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace tferry::cli {
namespace {

using trace::UmEventKind;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kBase = std::int64_t{1} << 40;
constexpr std::int64_t kRead = 1, kWrite = 2, kAtomic = 3, kDriverPrefetch = 4;

/// One process with device 1. Allocations A, B, C of 8 MiB lie at kBase, + 8 MiB, + 16 MiB.
class PageAccessesTest : public testing::Test {
 protected:
  PageAccessesTest() {
    for (std::int64_t id = 1; id <= 3; ++id) allocation(id, kBase + (id - 1) * 8 * kMiB, 8 * kMiB);
  }
  void allocation(std::int64_t id, std::int64_t address, std::int64_t bytes, bool alone = true,
                  std::int64_t from = 1, std::optional<std::int64_t> free = {}) {
    trace::AllocationRow row{.id = id, .process_id = 1, .device_id = 1, .allocation = id, .bytes = bytes};
    row.address = address;
    row.reserved_bytes = alone ? (bytes + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB : bytes;
    row.alloc_ns = from;
    row.free_ns = free;
    row.movable = alone ? 1 : 0;
    writer_.insert(row);
  }
  /// Called at 100 x operation: homed until + 10, returns at + 50. Its arguments name these.
  void launch(std::int64_t operation, std::initializer_list<std::int64_t> named, bool watched = true,
              std::int64_t device = 1) {
    trace::KernelRow kernel{.process_id = 1, .device_id = device};
    kernel.operation = operation;
    kernel.call_ns = 100 * operation;
    kernel.return_ns = 100 * operation + 50;
    writer_.insert(kernel);
    if (watched) {
      writer_.insert(trace::GateRow{.process_id = 1,
                                    .device_id = device,
                                    .operation = operation,
                                    .start_ns = 100 * operation,
                                    .end_ns = 100 * operation + 10});
    }
    for (const std::int64_t id : named) {
      writer_.insert(trace::AccessRow{.process_id = 1,
                                      .operation = operation,
                                      .allocation_id = id,
                                      .kind = trace::AccessKind::kMayTouch,
                                      .known_by = trace::KnownBy::kArgument,
                                      .argument_offset = 8});
    }
  }
  void fault(std::int64_t at, std::int64_t address, std::int64_t how, std::int64_t device = 1) {
    trace::UmEventRow row{.process_id = 1, .kind = UmEventKind::kGpuFault, .start_ns = at};
    row.end_ns = at + 1;
    row.address = address;
    row.source_device_id = device;
    row.cause = how;
    writer_.insert(row);
  }
  void migration(std::int64_t at, std::int64_t address, std::int64_t bytes) {
    trace::UmEventRow row{.process_id = 1, .kind = UmEventKind::kMigrationToDevice, .start_ns = at};
    row.end_ns = at + 1;
    row.address = address;
    row.bytes = bytes;
    row.destination_device_id = 1;
    row.cause = 2;
    writer_.insert(row);
  }
  /// "2: A read 0+2" for a row that is known by pages: operation, allocation, first and number of MiB.
  std::string found() {
    counts_ = find_page_accesses(writer_);
    std::string text;
    trace::Statement row(writer_.database(),
                         "SELECT operation || ': ' || char(64 + allocation_id) || ' ' || label || ' ' || "
                         "(\"offset\" / 1048576) || '+' || "
                         "(access.bytes / 1048576) || iif(argument_offset IS NULL, ' by pointer', '') FROM "
                         "access JOIN enumeration "
                         "ON name = 'access_kind' AND value = access.kind WHERE known_by = 6 ORDER BY "
                         "operation, allocation_id");
    while (row.step()) text += row.shown(0) + "\n";
    return text;
  }

  testing_support::TemporaryDirectory directory_;
  trace::SessionWriter writer_ = trace::SessionWriter::create((directory_.path() / "a.tferry").string(), {});
  PageAccesses counts_;
};

TEST_F(PageAccessesTest, WhatComesToTheDeviceWhileALaunchIsWatchedIsItsOwn) {
  launch(2, {1, 2});
  fault(215, kBase, kRead);
  migration(216, kBase, 2 * kMiB);
  fault(217, kBase + 12 * kMiB + 4096, kWrite);
  migration(218, kBase + 12 * kMiB, 64 << 10);
  EXPECT_EQ(found(), "2: A read 0+2\n2: B write 4+2\n");
  EXPECT_EQ(counts_.launches, 1);
  EXPECT_EQ(counts_.touched, 2);
  EXPECT_EQ(counts_.hidden, 0);
  EXPECT_EQ(counts_.events, 4);
  EXPECT_EQ(counts_.untouched, 0);
}

TEST_F(PageAccessesTest, WhatNoArgumentNamesWasReachedByAPointer) {
  launch(2, {1});
  fault(220, kBase, kRead);
  fault(230, kBase + 17 * kMiB, kWrite);
  fault(231, kBase + 19 * kMiB, kRead);
  EXPECT_EQ(found(), "2: A read 0+2\n2: C read_write 0+4 by pointer\n");
  EXPECT_EQ(counts_.hidden, 1);
}

TEST_F(PageAccessesTest, WhatIsNamedAndNotTouchedKeepsItsRowAndIsCounted) {
  launch(2, {1, 2});
  fault(220, kBase, kAtomic);
  EXPECT_EQ(found(), "2: A read_write 0+2\n");
  EXPECT_EQ(counts_.untouched, 1);
  EXPECT_EQ(
      writer_.database().integer("SELECT count(*) FROM access WHERE allocation_id = 2 AND known_by = 1"), 1);
}

TEST_F(PageAccessesTest, OneFaultRecordForManyPagesLeavesTheOthersWithoutADirection) {
  launch(2, {1, 2});
  fault(220, kBase, kRead);
  migration(221, kBase, 8 * kMiB);
  migration(222, kBase + 8 * kMiB, 8 * kMiB);
  fault(223, kBase + 8 * kMiB, kDriverPrefetch);
  EXPECT_EQ(found(), "2: A read 0+8\n2: B may_touch 0+8\n");
  EXPECT_EQ(counts_.undirected, 1);
}

TEST_F(PageAccessesTest, OutsideOfWatchedLaunchesNothingIsConcluded) {
  launch(2, {1});
  launch(3, {1}, false);
  fault(199, kBase, kRead);     // before
  fault(251, kBase, kRead);     // after: a copy's, say
  fault(320, kBase, kRead);     // during one that was not watched
  fault(220, kBase, kRead, 2);  // another GPU's
  EXPECT_EQ(found(), "");
  EXPECT_EQ(counts_.outside, 4);
  EXPECT_EQ(counts_.untouched, 1);
}

TEST_F(PageAccessesTest, AnAddressIsWhoseItIsAtThatTime) {
  allocation(4, kBase + 64 * kMiB, 3 * kMiB, true, 1, 290);
  allocation(5, kBase + 64 * kMiB, 3 * kMiB, true, 295);
  launch(2, {4});
  launch(3, {5});
  fault(220, kBase + 64 * kMiB, kWrite);
  fault(320, kBase + 67 * kMiB, kRead);  // in what its size was rounded up by
  EXPECT_EQ(found(), "2: D write 0+2\n3: E read 2+1\n");
}

TEST_F(PageAccessesTest, PagesThatSmallAllocationsShareAreNobodys) {
  allocation(4, kBase + 64 * kMiB, 512, false);
  allocation(5, kBase + 64 * kMiB + 512, 512, false);
  launch(2, {4});
  migration(220, kBase + 64 * kMiB, 2 * kMiB);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(counts_.shared, 1);
  EXPECT_EQ(counts_.untouched, 0);
}

TEST_F(PageAccessesTest, ASessionWithoutThePassIsLeftAsItIs) {
  launch(2, {1}, false);
  fault(220, kBase, kRead);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(counts_.launches, 0);
}

TEST_F(PageAccessesTest, DamagedRecordsChangeNothing) {
  launch(2, {1});
  launch(4, {2});
  writer_.execute("UPDATE kernel SET return_ns = 0 WHERE operation = 4");
  trace::UmEventRow row{.process_id = 1, .kind = UmEventKind::kGpuFault, .start_ns = 220};
  row.source_device_id = 1;
  writer_.insert(row);  // no address
  row.address = kBase;
  row.end_ns = 10;
  writer_.insert(row);  // reversed
  row.end_ns = 221;
  row.source_device_id = {};
  writer_.insert(row);  // of no device
  migration(222, kBase, -5);
  migration(223, kBase, 0);
  migration(224, std::numeric_limits<std::int64_t>::max() - 1, std::numeric_limits<std::int64_t>::max());
  migration(225, kBase + 900 * kMiB, kMiB);  // nobody's
  EXPECT_EQ(found(), "");
  EXPECT_EQ(counts_.touched, 0);
}

RC_GTEST_FIXTURE_PROP(PageAccessesTest, WhateverTheRecordsSayRowsLieWithinTheirAllocations, ()) {
  launch(2, {1});
  launch(3, {2, 3});
  for (int i = 0; i < 20; ++i) {
    const auto anything = *rc::gen::arbitrary<std::int64_t>();
    const auto near = *rc::gen::inRange<std::int64_t>(-3 * kMiB, 30 * kMiB);
    trace::UmEventRow row{.process_id = *rc::gen::inRange<std::int64_t>(0, 3),
                          .kind = *rc::gen::element(UmEventKind::kGpuFault, UmEventKind::kMigrationToDevice,
                                                    UmEventKind::kMigrationToHost),
                          .start_ns = *rc::gen::inRange<std::int64_t>(190, 360)};
    row.address = *rc::gen::element(kBase + near, anything);
    row.bytes = *rc::gen::element(near, anything);
    row.cause = *rc::gen::inRange<std::int64_t>(-1, 6);
    row.source_device_id = row.destination_device_id = 1;
    writer_.insert(row);
  }
  found();
  RC_ASSERT(writer_.database().integer(
                "SELECT count(*) FROM access JOIN allocation ON allocation.id = allocation_id WHERE known_by "
                "= 6 AND NOT "
                "(\"offset\" >= 0 AND access.bytes > 0 AND \"offset\" + access.bytes <= allocation.bytes)") ==
            0);
  RC_ASSERT(writer_.database().integer(
                "SELECT count(*) - count(DISTINCT operation || ' ' || allocation_id) FROM access") == 0);
}

}  // namespace
}  // namespace tferry::cli
