#include "cli/topology/pcie_tree.hpp"

#include "cli/testing/fake_sysfs.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

using testing_support::FakeSysfs;

TEST(PcieTree, TwoGpusBehindOneSwitchShareItsLinkToTheHost) {
  FakeSysfs sysfs;
  sysfs.bridge("pci0000:15/0000:15:01.0", "32.0 GT/s PCIe", 16)
      .bridge("pci0000:15/0000:15:01.0/0000:16:00.0", "16.0 GT/s PCIe", 16, 1)  // the switch's upper port
      .bridge("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0", "32.0 GT/s PCIe", 16)
      .bridge("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0", "32.0 GT/s PCIe", 16)
      .gpu("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0", "32.0 GT/s PCIe", 16, 1)
      .gpu("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0", "16.0 GT/s PCIe", 8, 1);
  const auto links = read_pcie_tree(sysfs.root());
  ASSERT_EQ(links.size(), 3u);
  EXPECT_EQ(links[0].address, "0000:16:00.0");
  EXPECT_EQ(links[0].upstream, "0000:15:01.0");
  EXPECT_FALSE(links[0].gpu);
  EXPECT_EQ(links[0].now.generation, 4);
  for (const std::size_t gpu : {1u, 2u}) {
    EXPECT_TRUE(links[gpu].gpu);
    EXPECT_EQ(links[gpu].parent, "0000:16:00.0");
    EXPECT_EQ(links[gpu].numa_node, 1);
  }
  EXPECT_EQ(links[1].upstream, "0000:17:00.0");
  EXPECT_EQ(links[2].now.generation, 4);
  EXPECT_EQ(links[2].now.width, 8);
  EXPECT_EQ(links[2].most.width, 16);
}

TEST(PcieTree, AGpuAtARootPortHasALinkOfItsOwn) {
  FakeSysfs sysfs;
  sysfs.bridge("pci0000:00/0000:00:01.0", "16.0 GT/s PCIe", 16)
      .gpu("pci0000:00/0000:00:01.0/0000:01:00.0", "16.0 GT/s PCIe", 16, 0);
  const auto links = read_pcie_tree(sysfs.root());
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].upstream, "0000:00:01.0");
  EXPECT_EQ(links[0].parent, "");
}

TEST(PcieTree, AVirtualMachineShowsTheGpuAlone) {
  FakeSysfs sysfs;
  sysfs.gpu("pci0000:00/0000:00:06.0", "Unknown", 0, -1);
  const auto links = read_pcie_tree(sysfs.root());
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].address, "0000:00:06.0");
  EXPECT_EQ(links[0].upstream, "");
  EXPECT_EQ(links[0].now.generation, 0);
  EXPECT_EQ(links[0].now.width, 0);
}

TEST(PcieTree, OtherDevicesAndBrokenEntriesAreNoGpus) {
  FakeSysfs sysfs;
  sysfs.gpu("pci0000:00/0000:00:01.0/0000:01:00.0", "16.0 GT/s PCIe", 16, 0);
  sysfs.write("pci0000:00/0000:00:01.0/0000:01:00.0/vendor", "0x8086");
  sysfs.dangling("0000:02:00.0");
  EXPECT_TRUE(read_pcie_tree(sysfs.root()).empty());
  EXPECT_TRUE(read_pcie_tree(sysfs.root() / "absent").empty());
}

TEST(PcieTree, SpeedsAreThoseOfTheStandard) {
  EXPECT_EQ(pcie_generation("2.5 GT/s PCIe"), 1);
  EXPECT_EQ(pcie_generation("32.0 GT/s PCIe"), 5);
  EXPECT_EQ(pcie_generation("Unknown"), 0);
  EXPECT_NEAR(pcie_bytes_per_second({5, 16}).value(), 63e9, 0.1e9);
  EXPECT_NEAR(pcie_bytes_per_second({2, 8}).value(), 4e9, 1);
  EXPECT_FALSE(pcie_bytes_per_second({0, 16}));
}

}  // namespace
}  // namespace tferry::cli
