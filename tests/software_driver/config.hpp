#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tferry::software_driver {

/// What the environment says (control.hpp lists the variables). `error` is a sentence when a variable cannot
/// be understood; cuInit prints it and fails, so that a misspelt setting is never silently without effect.
struct Config {
  int devices = 1;
  std::size_t device_memory = std::size_t{256} << 20;
  std::size_t granularity = std::size_t{2} << 20;
  double h2d_gbps = 55;
  double d2h_gbps = 55;
  double d2d_gbps = 1500;
  double p2p_gbps = 400;
  std::vector<std::vector<int>> shared_links;
  std::uint64_t jitter = 0;
  bool poison = false;
  bool contents = true;  ///< copies and sets move bytes, not only take their time
  std::string fail;
  std::string report;
  std::string error;
};

Config config_from_environment();

}  // namespace tferry::software_driver
