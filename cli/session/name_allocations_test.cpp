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
  void mark(const char* name, std::int64_t at) {
    trace::MarkerRow row{.process_id = 1,
                         .kind = trace::MarkerKind::kInstant,
                         .start_ns = at,
                         .name_id = writer_.intern(name)};
    row.thread = 1;
    row.end_ns = at;
    writer_.insert(row);
  }
  void allocation(std::int64_t id, std::int64_t time, std::int64_t thread = 1, std::int64_t address = 0,
                  std::optional<std::int64_t> free = {}) {
    trace::AllocationRow row{.id = id, .process_id = 1, .allocation = id, .bytes = 0x100, .alloc_ns = time};
    row.address = address != 0 ? address : 0x100000 * id;
    row.thread = thread;
    row.free_ns = free;
    writer_.insert(row);
  }
  /// "weight head.weight" of an allocation.
  std::string category(std::int64_t id) {
    return writer_.database().text(
        "SELECT coalesce(category, '-') || ' ' || name FROM allocation_name WHERE "
        "allocation_id = " +
        std::to_string(id));
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

TEST_F(NameAllocationsTest, AMarkNamesWhatIsAliveAtItsAddress) {
  allocation(1, 100, 1, 0x1000, 200);
  allocation(2, 300, 1, 0x1000, 500);
  allocation(3, 300, 1, 0x2000);
  mark("tferry:gradient:head.weight@0x1010", 400);
  mark("tferry:weight:body@0x20ff", 400);
  mark("tferry:weight:nobody@0x2100", 400);
  mark("tferry:gradient:freed@0x1000", 600);
  mark("tferry:weight:odd@0xzz", 600);
  EXPECT_EQ(names(), "1=- 2=head.weight 3=body");
  EXPECT_EQ(category(2), "gradient head.weight");
}

TEST_F(NameAllocationsTest, MarksAtSeveralAddressesOfOneAllocationMakeItAPool) {
  allocation(1, 100, 1, 0x1000);
  mark("tferry:weight:a@0x1000", 200);
  mark("tferry:weight:a@0x1000", 300);
  mark("tferry:weight:b@0x1040", 400);
  allocation(2, 100, 1, 0x2000);
  mark("tferry:weight:c@0x2000", 500);
  mark("tferry:gradient:c@0x2040", 500);
  EXPECT_EQ(names(), "1=a and others 2=c and others");
  EXPECT_EQ(category(1), "weight a and others");
  EXPECT_EQ(category(2), "- c and others");
}

TEST_F(NameAllocationsTest, WhatABackwardPassesThreadsAllocateAreGradients) {
  range("tferry:gradient:backward", 100, 200, 1);
  allocation(1, 150, 2);
  allocation(2, 250, 2);
  allocation(3, 160, 1);
  EXPECT_EQ(names(), "1=backward 2=- 3=backward");
  EXPECT_EQ(category(1), "gradient backward");
}

TEST_F(NameAllocationsTest, WhatIsFreedWithinItsModulesForwardIsWorkspace) {
  range("tferry:activation:mlp", 100, 200);
  allocation(1, 150, 1, 0, 180);
  allocation(2, 150, 1, 0, 400);
  range("attention scores", 160, 190);
  allocation(3, 170);
  EXPECT_EQ(names(), "1=mlp 2=mlp 3=attention scores");
  EXPECT_EQ(category(1), "workspace mlp");
  EXPECT_EQ(category(2), "activation mlp");
  EXPECT_EQ(category(3), "activation attention scores");
}

TEST_F(NameAllocationsTest, NamesAreCarriedOverToTheSameTensorsOfOtherIterations) {
  range("tferry:activation:mlp", 100, 200);
  for (std::int64_t id = 1; id <= 4; ++id) allocation(id, id * 110);
  writer_.insert(trace::TensorRow{.id = 9, .process_id = 1});
  for (std::int64_t id = 1; id <= 3; ++id)
    writer_.insert(trace::TensorAllocationRow{.tensor_id = 9, .allocation_id = id});
  ASSERT_EQ(names(), "1=mlp 2=- 3=- 4=-");
  for (int twice = 0; twice < 2; ++twice) {
    carry_names_over(writer_);
    EXPECT_EQ(writer_.database().integer("SELECT count(*) FROM allocation_name WHERE source = 'matched'"), 2);
    EXPECT_EQ(category(3), "activation mlp");
    EXPECT_EQ(writer_.database().text("SELECT category FROM tensor"), "activation");
  }
}

}  // namespace
}  // namespace tferry::cli
