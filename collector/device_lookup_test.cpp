#include "collector/device_lookup.hpp"

#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

namespace tferry::collector {
namespace {

TEST(DeviceLookupTest, ReadsTheLinkFromSysfs) {
  trace::TestDirectory sysfs;
  const std::string device = sysfs / "bus/pci/devices/0000:1b:00.0";
  std::filesystem::create_directories(device);
  trace::spew(device + "/current_link_speed", "32.0 GT/s PCIe\n");
  trace::spew(device + "/current_link_width", "16\n");
  trace::spew(device + "/numa_node", "1\n");
  trace::DeviceRecord record;
  record.pci_bus = 0x1b;
  read_sysfs(sysfs.path(), record);
  EXPECT_EQ(record.pcie_generation, 5);
  EXPECT_EQ(record.pcie_width, 16);
  EXPECT_EQ(record.numa_node, 1);
}

TEST(DeviceLookupTest, WhatSysfsDoesNotTellStaysUnknown) {
  trace::TestDirectory sysfs;
  const std::string device = sysfs / "bus/pci/devices/0000:00:00.0";
  std::filesystem::create_directories(device);
  trace::spew(device + "/current_link_speed", "Unknown\n");
  trace::spew(device + "/current_link_width", "255\n");
  trace::DeviceRecord record;
  read_sysfs(sysfs.path(), record);
  EXPECT_EQ(record.pcie_generation, 0);
  EXPECT_EQ(record.pcie_width, 0);
  EXPECT_EQ(record.numa_node, -1);
}

TEST(DeviceLookupTest, LoadsNoDriver) {
  DriverDeviceLookup lookup;
  trace::DeviceRecord record;
  EXPECT_EQ(lookup.driver_version(), 0);
  EXPECT_FALSE(lookup.complete(record));
}

}  // namespace
}  // namespace tferry::collector
