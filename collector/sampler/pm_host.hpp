#pragma once

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::collector {

/// A CUPTI profiling call that failed: the call, CUPTI's name of the error, and what to do.
class PmError : public std::runtime_error {
 public:
  PmError(const std::string& call, CUptiResult result);
  CUptiResult result() const { return result_; }

 private:
  CUptiResult result_;
};

/// Throws PmError unless the call succeeded.
void check_pm(const char* call, CUptiResult result);

/// Must be called before any other call of CUPTI's profiling interface, the device side included; again does
/// no harm.
void initialize_profiler();

/// The part of CUPTI's PM sampling that knows chips and metrics and needs no GPU: which metrics a chip has,
/// how many passes a set takes, the configuration for it. Owns CUPTI's host object. Threads: one.
class PmHost {
 public:
  /// `availability` as the device gives it; empty: all counters of the chip. Throws PmError for a chip that
  /// this CUPTI does not know.
  PmHost(const std::string& chip, std::vector<std::uint8_t> availability = {});
  ~PmHost();
  PmHost(const PmHost&) = delete;
  PmHost& operator=(const PmHost&) = delete;

  static std::vector<std::string> supported_chips();

  std::vector<std::string> base_metrics();
  /// 0 if these names cannot be had together.
  int passes(std::span<const std::string> names);
  /// The image that SetConfig takes; afterwards this object evaluates these names. Once.
  std::vector<std::uint8_t> configure(std::span<const std::string> names);
  /// Values of sample `index` of a counter data image, in the order of `names`, into `values`.
  void evaluate(std::span<const std::uint8_t> image, std::size_t index, std::span<const char*> names,
                std::span<double> values);

 private:
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

}  // namespace tferry::collector
