#include "cli/topology/pcie_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNvidia = "0x10de";
constexpr const char* kDisplayClass = "0x03";  // display controllers, 3D ones among them
constexpr std::array kGigatransfers = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0};
constexpr std::size_t kDeepest = 32;

/// 0000:19:00.0
bool is_pci_address(const std::string& name) {
  constexpr std::string_view kShape = "hhhh:hh:hh.d";
  if (name.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto letter = static_cast<unsigned char>(name[i]);
    const bool fits = kShape[i] == 'h'   ? std::isxdigit(letter)
                      : kShape[i] == 'd' ? std::isdigit(letter)
                                         : letter == kShape[i];
    if (!fits) return false;
  }
  return true;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

int number_in(const fs::path& file, int otherwise) {
  const std::string text = first_line(file);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  return end == text.c_str() || value < -1 || value > 4096 ? otherwise : static_cast<int>(value);
}

int width_in(const fs::path& file) {
  const int width = number_in(file, 0);
  return width > 0 && width <= 32 ? width : 0;
}

PcieSpeed read_speed(const fs::path& device, const char* which) {
  return {pcie_generation(first_line(device / (std::string(which) + "_link_speed"))),
          width_in(device / (std::string(which) + "_link_width"))};
}

/// The PCI devices from the root port down to `device`, as folders.
std::vector<fs::path> chain_of(const fs::path& device) {
  std::vector<fs::path> chain;
  for (fs::path at = device; is_pci_address(at.filename().string()) && chain.size() < kDeepest;
       at = at.parent_path()) {
    chain.insert(chain.begin(), at);
  }
  return chain;
}

}  // namespace

int pcie_generation(const std::string& speed) {
  char* end = nullptr;
  const double gigatransfers = std::strtod(speed.c_str(), &end);
  if (end == speed.c_str()) return 0;
  return static_cast<int>(std::upper_bound(kGigatransfers.begin(), kGigatransfers.end(), gigatransfers) -
                          kGigatransfers.begin());
}

std::optional<double> pcie_bytes_per_second(PcieSpeed speed) {
  if (speed.generation < 1 || speed.generation > static_cast<int>(kGigatransfers.size()) || speed.width < 1) {
    return std::nullopt;
  }
  // 8b/10b up to generation 2, 128b/130b and FLIT from then on.
  const double coding = speed.generation <= 2 ? 0.8 : 128.0 / 130.0;
  return kGigatransfers[static_cast<std::size_t>(speed.generation - 1)] * 1e9 / 8 * coding * speed.width;
}

std::vector<PcieLink> read_pcie_tree(const fs::path& sysfs_root) {
  std::vector<fs::path> gpus;
  std::error_code error;
  for (fs::directory_iterator entry(sysfs_root / "bus/pci/devices", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code broken;
    const fs::path device = fs::canonical(entry->path(), broken);
    if (broken || !is_pci_address(device.filename().string())) continue;
    if (first_line(device / "vendor") == kNvidia && first_line(device / "class").starts_with(kDisplayClass)) {
      gpus.push_back(device);
    }
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const auto& a, const auto& b) { return a.filename() < b.filename(); });
  std::vector<PcieLink> links;
  std::set<std::string> seen;
  for (const fs::path& gpu : gpus) {
    const std::vector<fs::path> chain = chain_of(gpu);
    // A virtual machine may show the GPU without a port above it: then the link's upper end is unknown.
    std::string parent;
    for (std::size_t place = chain.size() % 2 == 0 ? 1 : 0; place < chain.size(); place += 2) {
      const fs::path& lower = chain[place];
      const std::string address = lower.filename().string();
      if (seen.insert(address).second) {
        links.push_back({.address = address,
                         .upstream = place > 0 ? chain[place - 1].filename().string() : "",
                         .parent = parent,
                         .gpu = place + 1 == chain.size(),
                         .numa_node = number_in(lower / "numa_node", -1),
                         .now = read_speed(lower, "current"),
                         .most = read_speed(lower, "max")});
      }
      parent = address;
    }
  }
  std::stable_partition(links.begin(), links.end(), [](const PcieLink& link) { return link.parent.empty(); });
  return links;
}

}  // namespace tferry::cli
