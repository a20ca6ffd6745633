#pragma once

#include "collector/calibrate/gpu.hpp"

namespace tferry::calibrate {

/// A kernel that reads memory 16 bytes at a time and writes nothing, as PTX that the driver compiles. Of a
/// GPU's context, and gone with it.
class ReadKernel {
 public:
  explicit ReadKernel(const Gpu& gpu);
  ~ReadKernel();
  ReadKernel(const ReadKernel&) = delete;
  ReadKernel& operator=(const ReadKernel&) = delete;

  /// Reads `bytes` (a multiple of 16) from `address`.
  void launch(CUdeviceptr address, std::int64_t bytes, CUstream stream) const;

  static constexpr const char* kName = "tferry_calibrate_read";

 private:
  const Gpu& gpu_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  Memory unused_;
};

}  // namespace tferry::calibrate
