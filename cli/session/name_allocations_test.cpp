#include "cli/session/name_allocations.hpp"

#include "cli/testing/temporary_directory.hpp"
#include "trace/session.hpp"
#include "trace/session_rows.hpp"
#include "trace/session_writer.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

class NameAllocationsTest : public testing::Test {
 protected:
  void range(const char* name, std::int64_t start, std::int64_t end, std::int64_t thread = 1) {
    trace::MarkerRow row{.process_id = 1,
                         .kind = trace::MarkerKind::kRange,
                         .start_ns = start,
                         .name_id = writer_.intern(name)};
    row.thread = thread;
    row.end_ns = end;
    writer_.insert(row);
  }
  void allocation(std::int64_t id, std::int64_t time, std::int64_t thread = 1) {
    trace::AllocationRow row{.id = id, .process_id = 1, .allocation = id, .bytes = 1, .alloc_ns = time};
    row.thread = thread;
    writer_.insert(row);
  }
  /// "1=forward 2=-" for allocations 1 and 2.
  std::string names() {
    name_allocations_by_nvtx(writer_);
    std::string text;
    trace::Statement row(
        writer_.database(),
        "SELECT allocation.id, coalesce(name, '-') FROM allocation LEFT JOIN allocation_name "
        "ON allocation_id = allocation.id ORDER BY allocation.id");
    while (row.step()) text += (text.empty() ? "" : " ") + row.shown(0) + "=" + row.shown(1);
    return text;
  }

  testing_support::TemporaryDirectory directory_;
  trace::SessionWriter writer_ = trace::SessionWriter::create((directory_.path() / "a.tferry").string());
};

TEST_F(NameAllocationsTest, TheInnermostOpenRangeOfTheThreadNames) {
  range("step", 100, 900);
  range("forward", 200, 400);
  allocation(1, 150);
  allocation(2, 300);
  allocation(3, 500);
  allocation(4, 950);
  EXPECT_EQ(names(), "1=step 2=forward 3=step 4=-");
}

TEST_F(NameAllocationsTest, ARangeOfTheHookInPytorchHasACategory) {
  range("tferry:weight:layers.3.mlp", 100, 200);
  range("tferry:odd", 300, 400);
  allocation(1, 150);
  allocation(2, 350);
  EXPECT_EQ(names(), "1=layers.3.mlp 2=tferry:odd");
  EXPECT_EQ(writer_.database().text("SELECT category || source FROM allocation_name WHERE allocation_id = 1"),
            "weightpytorch");
  EXPECT_EQ(writer_.database().text("SELECT source FROM allocation_name WHERE allocation_id = 2"), "nvtx");
}

TEST_F(NameAllocationsTest, AnotherThreadsRangeDoesNot) {
  range("step", 100, 900, 2);
  allocation(1, 150, 1);
  allocation(2, 150, 2);
  EXPECT_EQ(names(), "1=- 2=step");
}

TEST_F(NameAllocationsTest, ARangeCountsFromItsFirstMomentToItsLast) {
  range("step", 100, 200);
  allocation(1, 100);
  allocation(2, 200);
  allocation(3, 201);
  EXPECT_EQ(names(), "1=step 2=step 3=-");
}

}  // namespace
}  // namespace tferry::cli
