#pragma once

#include <cstdint>

namespace tferry::samples {

/// The sample's kernels as host functions for the software driver, in the order of their names.
enum class HostKernel { kFill, kCombine, kUpdate, kSums };

const char* name_of(HostKernel kernel);

/// The one parameter of the combine kernel: pointers inside a struct passed by value.
struct CombineStep {
  std::uint64_t in;
  std::uint64_t weight;
  std::uint64_t bias;
  std::uint64_t out;
  std::uint64_t count;
  std::uint64_t factor;
  int work;
};

/// What cuModuleLoadData is given; the software driver takes any image.
inline constexpr char kModuleImage[] = ".version 8.0 // kernels are registered host functions";

/// Registers the kernels with the software driver open at `library`. A library that has no
/// swd_register_kernel is a real driver: std::runtime_error says that this program runs on the software
/// driver only.
void register_host_kernels(void* library);

}  // namespace tferry::samples
