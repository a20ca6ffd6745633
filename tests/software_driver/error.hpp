#pragma once

#include <cuda.h>

#include <exception>

namespace tferry::software_driver {

/// Thrown inside the software driver; call() turns it into the return value of the entry point.
class DriverError : public std::exception {
 public:
  explicit DriverError(CUresult code) noexcept : code_(code) {}
  CUresult code() const noexcept { return code_; }
  const char* what() const noexcept override;

 private:
  CUresult code_;
};

inline void require(bool holds, CUresult otherwise = CUDA_ERROR_INVALID_VALUE) {
  if (!holds) throw DriverError(otherwise);
}

/// The object behind an output or input pointer of the caller, who may have passed null.
template <class T>
T& checked(T* pointer) {
  require(pointer != nullptr);
  return *pointer;
}

/// Name ("CUDA_ERROR_INVALID_VALUE") and words ("invalid value") of a code; nullptr for an unknown one.
const char* error_name(CUresult code) noexcept;
const char* error_words(CUresult code) noexcept;

}  // namespace tferry::software_driver
