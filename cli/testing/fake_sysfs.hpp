#pragma once

#include "cli/testing/temporary_directory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace tferry::cli::testing_support {

/// A folder that looks like /sys as far as PCI devices go. Paths are those below /sys/devices.
class FakeSysfs {
 public:
  const std::filesystem::path& root() const { return root_; }

  FakeSysfs& bridge(const std::string& path, const std::string& speed, int width, int node = -1) {
    return device(path, "0x1000", "0x060400", speed, width, node);
  }
  FakeSysfs& gpu(const std::string& path, const std::string& speed, int width, int node) {
    return device(path, "0x10de", "0x030200", speed, width, node);
  }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / "devices" / path).parent_path());
    std::ofstream(root_ / "devices" / path) << text << "\n";
  }
  void dangling(const std::string& address) {
    std::filesystem::create_directories(root_ / "bus/pci/devices");
    std::filesystem::create_symlink("../../../devices/gone", root_ / "bus/pci/devices" / address);
  }

 private:
  FakeSysfs& device(const std::string& path, const char* vendor, const char* type, const std::string& speed,
                    int width, int node) {
    write(path + "/vendor", vendor);
    write(path + "/class", type);
    write(path + "/current_link_speed", speed);
    write(path + "/current_link_width", std::to_string(width));
    write(path + "/max_link_speed", "32.0 GT/s PCIe");
    write(path + "/max_link_width", "16");
    write(path + "/numa_node", std::to_string(node));
    const auto devices = root_ / "bus/pci/devices";
    std::filesystem::create_directories(devices);
    std::filesystem::create_symlink("../../../devices/" + path, devices / path.substr(path.rfind('/') + 1));
    return *this;
  }

  TemporaryDirectory directory_;
  std::filesystem::path root_ = directory_.path();
};

}  // namespace tferry::cli::testing_support
