#include "tests/runtime/kernels.hpp"

#include "tests/runtime/drivers.hpp"

#include <stdexcept>

namespace tferry::runtime_test {
namespace {

template <class T>
T argument(const SwdLaunch* launch, unsigned index) {
  return *static_cast<const T*>(launch->parameters[index]);
}

std::uint32_t* words_at(CUdeviceptr address) { return reinterpret_cast<std::uint32_t*>(address); }

void fill(const SwdLaunch* launch) {
  fill_words(words_at(argument<CUdeviceptr>(launch, 0)), argument<std::uint64_t>(launch, 1),
             argument<std::uint32_t>(launch, 2));
}

void mix(const SwdLaunch* launch) {
  mix_words(words_at(argument<CUdeviceptr>(launch, 0)), words_at(argument<CUdeviceptr>(launch, 1)),
            words_at(argument<CUdeviceptr>(launch, 2)), argument<std::uint64_t>(launch, 3),
            argument<std::uint32_t>(launch, 4));
}

void mix_by_struct(const SwdLaunch* launch) {
  const auto all = argument<MixArguments>(launch, 0);
  mix_words(words_at(all.out), words_at(all.a), words_at(all.b), all.words, all.value);
}

void add(const SwdLaunch* launch) {
  add_words(words_at(argument<CUdeviceptr>(launch, 0)), argument<std::uint64_t>(launch, 1),
            argument<std::uint32_t>(launch, 2));
}

void add_by_table(const SwdLaunch* launch) {
  const auto* table = reinterpret_cast<const CUdeviceptr*>(argument<CUdeviceptr>(launch, 0));
  const auto count = argument<std::uint32_t>(launch, 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    add_words(words_at(table[i]), argument<std::uint64_t>(launch, 2), argument<std::uint32_t>(launch, 3) + i);
  }
}

void store(const SwdLaunch* launch) {
  *reinterpret_cast<std::uint64_t*>(argument<CUdeviceptr>(launch, 0)) = argument<std::uint64_t>(launch, 1);
}

void store_unseen(const SwdLaunch* launch) {
  const auto address =
      std::uint64_t{argument<std::uint32_t>(launch, 1)} << 32 | argument<std::uint32_t>(launch, 0);
  *reinterpret_cast<std::uint64_t*>(address) = argument<std::uint64_t>(launch, 2);
}

void register_all() {
  const auto add_kernel = [](const char* name, SwdKernelFunction function, std::vector<SwdParameter> layout) {
    const int failed = Drivers::get().register_kernel(name, function, layout.data(),
                                                      static_cast<unsigned>(layout.size()), 1000);
    if (failed != 0) throw std::runtime_error(std::string("swd_register_kernel ") + name);
  };
  add_kernel("fill", fill, {{0, 8}, {8, 8}, {16, 4}});
  add_kernel("mix", mix, {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 4}});
  add_kernel("mix_by_struct", mix_by_struct, {{0, sizeof(MixArguments)}});
  add_kernel("add", add, {{0, 8}, {8, 8}, {16, 4}});
  add_kernel("add_by_table", add_by_table, {{0, 8}, {8, 4}, {16, 8}, {24, 4}});
  add_kernel("store", store, {{0, 8}, {8, 8}});
  add_kernel("store_unseen", store_unseen, {{0, 4}, {4, 4}, {8, 8}});
}

}  // namespace

void fill_words(std::uint32_t* out, std::uint64_t words, std::uint32_t seed) {
  for (std::uint64_t i = 0; i < words; ++i)
    out[i] = (static_cast<std::uint32_t>(i) + seed) * 2654435761U ^ seed;
}

void mix_words(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b, std::uint64_t words,
               std::uint32_t value) {
  for (std::uint64_t i = 0; i < words; ++i)
    out[i] = 3 * a[i] + 5 * b[i] + value + static_cast<std::uint32_t>(i);
}

void add_words(std::uint32_t* out, std::uint64_t words, std::uint32_t value) {
  for (std::uint64_t i = 0; i < words; ++i) out[i] += value;
}

Kernels Kernels::load(const cuda::Driver& driver) {
  static const bool registered = (register_all(), true);
  static_cast<void>(registered);
  CUmodule module = nullptr;
  if (driver.cuModuleLoadData(&module, "any image") != CUDA_SUCCESS)
    throw std::runtime_error("cuModuleLoadData");
  const auto find = [&](const char* name) {
    CUfunction function = nullptr;
    if (driver.cuModuleGetFunction(&function, module, name) != CUDA_SUCCESS) throw std::runtime_error(name);
    return function;
  };
  return {find("fill"),         find("mix"),   find("mix_by_struct"), find("add"),
          find("add_by_table"), find("store"), find("store_unseen")};
}

}  // namespace tferry::runtime_test
