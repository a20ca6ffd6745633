#pragma once

#include "cuda/driver.hpp"

#include <stdexcept>
#include <string>

namespace tferry::calibrate {

/// A driver call that failed, or that this driver does not have.
class DriverCallError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Calls `function`, the driver's entry point `name`; throws DriverCallError unless it succeeds.
template <typename Function, typename... Arguments>
void call(const cuda::Driver& driver, const char* name, Function function, Arguments... arguments) {
  if (function == nullptr) throw DriverCallError(std::string("this driver has no ") + name);
  const CUresult result = function(arguments...);
  if (result != CUDA_SUCCESS)
    throw DriverCallError(std::string(name) + ": " + cuda::error_name(driver, result));
}

// The entry point's name once, for the call and for the message.
#define TFERRY_DRIVER(driver, name, ...) \
  ::tferry::calibrate::call(driver, #name, (driver).name __VA_OPT__(, ) __VA_ARGS__)

}  // namespace tferry::calibrate
