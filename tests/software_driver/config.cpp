#include "tests/software_driver/config.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>

namespace tferry::software_driver {
namespace {

template <class T>
void read(const char* name, T& value, T smallest, T largest, std::string& error) {
  const char* text = std::getenv(name);
  if (!text || !*text) return;
  T parsed{};
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, parsed);
  if (result.ec != std::errc{} || result.ptr != end || parsed < smallest || parsed > largest) {
    error = std::string(name) + "=" + text + " is not a number in range";
    return;
  }
  value = parsed;
}

/// "0+1,2+3": groups of device numbers, none in two groups.
void read_shared_links(Config& config) {
  const char* text = std::getenv("SWD_SHARED_LINKS");
  if (!text || !*text) return;
  const char* const end = text + std::strlen(text);
  std::set<int> seen;
  config.shared_links.emplace_back();
  for (const char* at = text;;) {
    int device = -1;
    const auto [rest, error] = std::from_chars(at, end, device);
    if (error != std::errc{} || device < 0 || device >= config.devices || !seen.insert(device).second) break;
    config.shared_links.back().push_back(device);
    if (rest == end) return;
    if (*rest == ',') config.shared_links.emplace_back();
    if (*rest != ',' && *rest != '+') break;
    at = rest + 1;
  }
  config.error = std::string("SWD_SHARED_LINKS=") + text + " is no list of groups such as 0+1,2+3";
}

}  // namespace

Config config_from_environment() {
  Config config;
  std::string& error = config.error;
  constexpr std::size_t kMost = std::size_t{1} << 46;
  read<int>("SWD_DEVICES", config.devices, 0, 16, error);
  read<std::size_t>("SWD_DEVICE_MEMORY", config.device_memory, 0, kMost, error);
  read<std::size_t>("SWD_GRANULARITY", config.granularity, 65536, std::size_t{1} << 30, error);
  read<double>("SWD_H2D_GBPS", config.h2d_gbps, 1e-3, 1e6, error);
  read<double>("SWD_D2H_GBPS", config.d2h_gbps, 1e-3, 1e6, error);
  read<double>("SWD_D2D_GBPS", config.d2d_gbps, 1e-3, 1e6, error);
  read<double>("SWD_P2P_GBPS", config.p2p_gbps, 1e-3, 1e6, error);
  read<std::uint64_t>("SWD_JITTER", config.jitter, 0, ~std::uint64_t{0}, error);
  int poison = 0;
  read<int>("SWD_POISON", poison, 0, 1, error);
  config.poison = poison != 0;
  int contents = 1;
  read<int>("SWD_CONTENTS", contents, 0, 1, error);
  config.contents = contents != 0;
  if (!std::has_single_bit(config.granularity)) error = "SWD_GRANULARITY is not a power of two";
  read_shared_links(config);
  if (const char* fail = std::getenv("SWD_FAIL")) config.fail = fail;
  if (const char* report = std::getenv("SWD_REPORT")) config.report = report;
  return config;
}

}  // namespace tferry::software_driver
