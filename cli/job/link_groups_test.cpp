#include "cli/job/link_groups.hpp"

#include "cli/failure.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tferry::cli {
namespace {

class LinkGroupsTest : public testing::Test {
 protected:
  LinkGroups read(const std::string& text) const {
    const auto file = folder_.path() / "topology";
    std::ofstream(file) << text;
    return read_link_groups(file);
  }
  testing_support::TemporaryDirectory folder_;
};

TEST_F(LinkGroupsTest, AFileNamesTheLinkOfEachGpu) {
  const LinkGroups groups = read(
      "# two GPUs on a switch\n"
      "0000:19:00.0 switch\n"
      "\n"
      "0000:3B:00.0 switch   # the second\n"
      "00000000:5d:00.0 own\n");
  EXPECT_EQ((LinkGroups{{"0000:19:00.0", "switch"}, {"0000:3b:00.0", "switch"}, {"00000000:5d:00.0", "own"}}),
            groups);
  EXPECT_EQ(2U, largest_group(groups));
  EXPECT_EQ("00000000:5d:00.0 own\n0000:19:00.0 switch\n0000:3b:00.0 switch\n", link_groups_text(groups));
}

TEST_F(LinkGroupsTest, WhatIsNoLineOfItIsRefusedWithItsNumber) {
  for (const char* text :
       {"gpu0 switch\n", "0000:19:00.0\n", "0000:19:00.0 a b\n", "0000:19:00.0x a\n", "1 2\n"}) {
    try {
      read(std::string("\n") + text);
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_NE(std::string::npos, std::string(failure.what()).find("line 2 of")) << failure.what();
    }
  }
  EXPECT_THROW(read_link_groups(folder_.path() / "none"), Failure);
}

TEST_F(LinkGroupsTest, GpusBelowOnePortShareItsLink) {
  const std::vector<PcieLink> tree{{.address = "0000:10:00.0"},
                                   {.address = "0000:19:00.0", .parent = "0000:10:00.0", .gpu = true},
                                   {.address = "0000:1A:00.0", .parent = "0000:10:00.0", .gpu = true},
                                   {.address = "0000:5d:00.0", .gpu = true}};
  const LinkGroups groups = find_link_groups(tree, std::nullopt);
  EXPECT_EQ((LinkGroups{{"0000:19:00.0", "pcie-0000:10:00.0"}, {"0000:1a:00.0", "pcie-0000:10:00.0"}}),
            groups);
}

TEST_F(LinkGroupsTest, SoDoThoseThatWereMeasuredToSlowEachOtherDownALot) {
  trace::Calibration calibration;
  calibration.gpus = {{.ordinal = 0, .pci_address = "0000:19:00.0"},
                      {.ordinal = 1, .pci_address = "0000:3b:00.0"}};
  const auto stretched = [&](double factor) {
    calibration.figures = {{.what = "stretch", .gpus = {0, 1}, .direction = "h2d"}};
    calibration.figures[0].low = calibration.figures[0].median = calibration.figures[0].high = factor;
    return find_link_groups({}, calibration);
  };
  EXPECT_TRUE(stretched(1.08).empty()) << "as two links of their own do, by what is behind them";
  const std::vector<PcieLink> tree{{.address = "0000:10:00.0"},
                                   {.address = "0000:19:00.0", .parent = "0000:10:00.0", .gpu = true},
                                   {.address = "0000:3b:00.0", .parent = "0000:10:00.0", .gpu = true}};
  EXPECT_TRUE(find_link_groups(tree, calibration).empty()) << "what was measured counts, not the tree";
  EXPECT_EQ(
      (LinkGroups{{"0000:19:00.0", "measured-0000:19:00.0"}, {"0000:3b:00.0", "measured-0000:19:00.0"}}),
      stretched(1.98));
}

TEST_F(LinkGroupsTest, ACycleInTheTreeEnds) {
  const std::vector<PcieLink> tree{{.address = "a", .parent = "b"},
                                   {.address = "b", .parent = "a"},
                                   {.address = "0000:19:00.0", .parent = "a", .gpu = true}};
  EXPECT_EQ(1U, find_link_groups(tree, std::nullopt).size());
}

}  // namespace
}  // namespace tferry::cli
