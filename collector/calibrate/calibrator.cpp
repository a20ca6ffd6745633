#include "collector/calibrate/calibrator.hpp"

#include "collector/calibrate/experiments.hpp"

#include <ctime>
#include <unistd.h>

namespace tferry::calibrate {
namespace {

struct Experiment {
  const char* name;
  void (*measure)(Bench&);
};

constexpr Experiment kExperiments[] = {
    {"links, each GPU alone", measure_links},
    {"links, GPUs together", measure_groups},
    {"copies by size", measure_sizes},
    {"reads in place", measure_in_place},
    {"copies between GPUs", measure_peers},
    {"relays", measure_relays},
    {"mapping calls", measure_mapping},
    {"managed memory", measure_managed},
    {"copies of pageable memory", measure_pageable},
};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

trace::Calibration calibrate(const cuda::Driver& driver, const Settings& settings,
                             const std::function<void(const std::string&)>& progress) {
  TFERRY_DRIVER(driver, cuInit, 0U);
  trace::Calibration calibration;
  calibration.created = utc_now();
  calibration.tferry = TFERRY_VERSION;
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) calibration.host = host;
  if (driver.cuDriverGetVersion != nullptr) driver.cuDriverGetVersion(&calibration.driver_version);
  Bench bench(driver, settings, calibration);
  for (const Experiment& experiment : kExperiments) {
    progress(experiment.name);
    try {
      bench.check_time();
      experiment.measure(bench);
    } catch (const OutOfTime& error) {
      bench.miss(std::string(experiment.name) + ", in whole or in part: " + error.what());
    } catch (const DriverCallError& error) {
      bench.miss(std::string(experiment.name) + ", in whole or in part: " + error.what());
    }
  }
  calibration.duration_s = bench.elapsed_s();
  return calibration;
}

}  // namespace tferry::calibrate
