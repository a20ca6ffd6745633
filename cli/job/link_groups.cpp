#include "cli/job/link_groups.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

namespace tferry::cli {
namespace {

constexpr std::size_t kMostLines = 4096;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Domain, bus, device and function in hexadecimal: 0000:19:00.0, or with a domain of eight digits.
bool is_pci_address(const std::string& text) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int used = 0;
  return text.size() <= 16 &&
         std::sscanf(text.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) == 4 &&
         static_cast<std::size_t>(used) == text.size();
}

}  // namespace

LinkGroups read_link_groups(const std::filesystem::path& file) {
  std::ifstream lines(file);
  if (!lines)
    throw Failure(fmt::format("--topology: {} cannot be read", file.string()), "give a file that is there");
  LinkGroups groups;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address, name, more;
    if (!(words >> address)) continue;
    if (number > kMostLines || !is_pci_address(address) || !(words >> name) || words >> more) {
      throw Failure(fmt::format("--topology: line {} of {} is not a PCI address and the name of a link",
                                number, file.string()),
                    "write lines such as: 0000:19:00.0 switch-1");
    }
    groups[lower(address)] = name;
  }
  return groups;
}

LinkGroups find_link_groups(std::span<const PcieLink> tree,
                            const std::optional<trace::Calibration>& calibration, double threshold) {
  const bool measured =
      calibration && std::any_of(calibration->figures.begin(), calibration->figures.end(),
                                 [](const auto& figure) { return figure.what == "stretch"; });
  std::map<std::string, const PcieLink*> links;
  for (const PcieLink& link : tree) links[link.address] = &link;
  LinkGroups groups;
  for (const PcieLink& gpu : tree) {
    if (!gpu.gpu || measured) continue;
    const PcieLink* top = &gpu;
    for (std::size_t steps = 0; steps < tree.size() && links.contains(top->parent); ++steps)
      top = links[top->parent];
    if (top != &gpu) groups[lower(gpu.address)] = "pcie-" + lower(top->address);
  }
  if (!measured) return groups;
  for (const trace::SharedGroup& group : trace::shared_groups(*calibration, threshold)) {
    std::string name;
    for (const trace::CalibratedGpu& gpu : calibration->gpus) {
      if (std::find(group.gpus.begin(), group.gpus.end(), gpu.ordinal) == group.gpus.end()) continue;
      if (name.empty()) name = "measured-" + lower(gpu.pci_address);
      groups.emplace(lower(gpu.pci_address), name);
    }
  }
  return groups;
}

std::string link_groups_text(const LinkGroups& groups) {
  std::string text;
  for (const auto& [address, name] : groups) text += address + " " + name + "\n";
  return text;
}

std::size_t largest_group(const LinkGroups& groups) {
  std::map<std::string, std::size_t> sizes;
  std::size_t largest = 0;
  for (const auto& [address, name] : groups) largest = std::max(largest, ++sizes[name]);
  return largest;
}

}  // namespace tferry::cli
