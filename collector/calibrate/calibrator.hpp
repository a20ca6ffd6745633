#pragma once

#include "collector/calibrate/settings.hpp"
#include "cuda/driver.hpp"
#include "trace/calibration.hpp"

#include <functional>
#include <string>

namespace tferry::calibrate {

/// Runs all experiments, the most useful first, until the time limit; what the driver refuses, and what no
/// time was left for, stands in `missing`. `progress` is told what begins. Throws DriverCallError if nothing
/// can be measured.
trace::Calibration calibrate(const cuda::Driver& driver, const Settings& settings,
                             const std::function<void(const std::string&)>& progress);

}  // namespace tferry::calibrate
