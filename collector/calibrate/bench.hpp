#pragma once

#include "collector/calibrate/lanes.hpp"
#include "collector/calibrate/settings.hpp"
#include "trace/calibration.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::calibrate {

enum class Direction { kToDevice, kToHost };
const char* name_of(Direction direction);  ///< h2d, d2h

/// The time limit was reached; what was measured so far stays.
class OutOfTime : public std::runtime_error {
 public:
  OutOfTime() : std::runtime_error("the time limit was reached") {}
};

/// One GPU's buffers and streams for copies each way.
struct LinkBuffers {
  LinkBuffers(const Gpu& gpu, std::int64_t bytes);
  Memory device_in, device_out, host_in, host_out;
  Stream in, out;
};

/// What the experiments share: GPUs, buffers, the clock, and the calibration that they fill.
class Bench {
 public:
  /// Opens the GPUs and makes their buffers, no larger than an eighth of what each has free. Throws
  /// DriverCallError.
  Bench(const cuda::Driver& driver, const Settings& settings, trace::Calibration& calibration);

  const Settings& settings() const noexcept { return settings_; }
  const trace::Calibration& calibration() const noexcept { return calibration_; }
  std::size_t gpu_count() const noexcept { return gpus_.size(); }
  const Gpu& gpu(std::size_t index) const { return *gpus_[index]; }
  const LinkBuffers& link(std::size_t index) const { return *links_[index]; }
  std::int64_t buffer_bytes() const noexcept { return buffer_bytes_; }

  /// Throws OutOfTime, by the host's own clock.
  void check_time() const;
  double elapsed_s() const { return static_cast<double>(Settings::steady_now_ns() - start_ns_) * 1e-9; }
  std::int64_t now_ns() const { return settings_.now_ns(); }

  /// Pinned copies of one GPU, `bytes` in all, by pieces.
  Lane copies(std::size_t index, Direction direction, std::int64_t piece_bytes, std::int64_t bytes) const;
  /// The same by the pieces and bytes of the settings.
  Lane copies(std::size_t index, Direction direction) const;

  /// Enters a figure; `prototype` says what it is, `values` are its repeats. Values that are no positive
  /// number count as not measured; with none left there is no figure.
  void add(trace::CalibratedFigure prototype, std::vector<double> values);
  void miss(const std::string& what) { calibration_.missing.push_back(what); }

 private:
  Settings settings_;
  trace::Calibration& calibration_;
  std::int64_t start_ns_;
  std::int64_t buffer_bytes_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<std::unique_ptr<LinkBuffers>> links_;
};

}  // namespace tferry::calibrate
