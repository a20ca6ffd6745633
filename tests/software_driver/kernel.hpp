#pragma once

#include "tests/software_driver/control.hpp"
#include "tests/software_driver/work.hpp"

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tferry::software_driver {

/// A registered host function.
struct KernelCode {
  std::string name;
  SwdKernelFunction function = nullptr;
  std::vector<SwdParameter> parameters;
  Nanoseconds duration = 0;
};

/// What swd_register_kernel and swd_register_global made known. Thread-safe.
class KernelRegistry {
 public:
  void add(KernelCode code);
  void add_global(std::string name, std::size_t size);
  /// Null when there is none of that name.
  std::shared_ptr<const KernelCode> find(const std::string& name) const;
  std::vector<std::shared_ptr<const KernelCode>> all() const;
  std::map<std::string, std::size_t> globals() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const KernelCode>> by_name_;
  std::map<std::string, std::size_t> globals_;
};

/// Behind a CUfunction.
struct Function {
  std::shared_ptr<const KernelCode> code;
  CUmodule module = nullptr;
};

/// Behind a CUkernel.
struct Kernel {
  std::shared_ptr<const KernelCode> code;
  CUlibrary library = nullptr;
};

/// Grid, block and the like of one launch.
struct LaunchShape {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
};

/// The work of one launch: copies the parameters now, from `values` (one pointer each) or from the buffer
/// that `extra` describes. Throws CUDA_ERROR_INVALID_VALUE where the driver would.
Work launch_work(CUfunction function, std::shared_ptr<const KernelCode> code, const LaunchShape& shape,
                 int device, void** values, void** extra);

}  // namespace tferry::software_driver
