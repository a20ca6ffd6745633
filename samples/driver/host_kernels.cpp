#include "samples/driver/host_kernels.hpp"

#include "tests/software_driver/control.hpp"

#include <cstddef>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace tferry::samples {
namespace {

using Word = std::uint64_t;

/// One element, as if the whole grid were one thread; 1 ms a launch on the driver's virtual clock.
constexpr std::int64_t kDurationNs = 1'000'000;

template <typename T>
const T& parameter(const SwdLaunch* launch, unsigned index) {
  return *static_cast<const T*>(launch->parameters[index]);
}

Word* words(Word address) { return reinterpret_cast<Word*>(address); }

void fill(const SwdLaunch* launch) {
  Word* out = words(parameter<Word>(launch, 0));
  const Word count = parameter<Word>(launch, 1);
  const Word slope = parameter<Word>(launch, 2);
  const Word offset = parameter<Word>(launch, 3);
  for (Word i = 0; i < count; ++i) out[i] = slope * i + offset;
}

void combine(const SwdLaunch* launch) {
  const CombineStep& step = parameter<CombineStep>(launch, 0);
  const Word bias = *words(step.bias);
  for (Word i = 0; i < step.count; ++i) {
    Word x = words(step.in)[i];
    for (int k = 0; k < step.work; ++k) x = step.factor * x + 1;
    words(step.out)[i] = x + words(step.weight)[i] + bias;
  }
}

void update(const SwdLaunch* launch) {
  const Word* table = words(parameter<Word>(launch, 0));
  const Word factor = parameter<Word>(launch, 1);
  const Word constant = parameter<Word>(launch, 2);
  for (Word b = 0; b < table[0]; ++b) {
    Word* buffer = words(table[2 + b]);
    for (Word i = 0; i < table[1]; ++i) buffer[i] = factor * buffer[i] + constant;
  }
}

void sums(const SwdLaunch* launch) {
  const Word* in = words(parameter<Word>(launch, 0));
  const Word count = parameter<Word>(launch, 1);
  Word* out = words(parameter<Word>(launch, 2));
  Word plain = 0;
  Word weighted = 0;
  for (Word i = 0; i < count; ++i) {
    plain += in[i];
    weighted += (i + 1) * in[i];
  }
  out[0] = plain;
  out[1] = weighted;
}

}  // namespace

const char* name_of(HostKernel kernel) {
  static constexpr const char* kNames[] = {"layers_fill", "layers_combine", "layers_update_by_table",
                                           "layers_sums"};
  return kNames[static_cast<int>(kernel)];
}

void register_host_kernels(void* library) {
  const auto register_kernel =
      reinterpret_cast<decltype(&swd_register_kernel)>(dlsym(library, "swd_register_kernel"));
  if (register_kernel == nullptr) {
    throw std::runtime_error(
        "libcuda.so.1 is not Tensorferry's software driver, on which alone this program runs (its kernels "
        "are host "
        "functions); set LD_LIBRARY_PATH to the folder of the software driver, or use "
        "tferry-sample-layers-cuda");
  }
  static constexpr SwdParameter kFill[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}};
  static constexpr SwdParameter kCombine[] = {{0, sizeof(CombineStep)}};
  static constexpr SwdParameter kThree[] = {{0, 8}, {8, 8}, {16, 8}};
  const int failed = register_kernel(name_of(HostKernel::kFill), fill, kFill, 4, kDurationNs) |
                     register_kernel(name_of(HostKernel::kCombine), combine, kCombine, 1, kDurationNs) |
                     register_kernel(name_of(HostKernel::kUpdate), update, kThree, 3, kDurationNs) |
                     register_kernel(name_of(HostKernel::kSums), sums, kThree, 3, kDurationNs);
  if (failed != 0) throw std::runtime_error("swd_register_kernel refused a kernel");
}

}  // namespace tferry::samples
