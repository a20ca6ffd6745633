#pragma once

#include "cuda/driver.hpp"

#include <cstdint>
#include <vector>

namespace tferry::runtime_test {

/// What the kernels of the tests compute, word by word; the kernels call the same functions on device memory.
void fill_words(std::uint32_t* out, std::uint64_t words, std::uint32_t seed);
/// out[i] = 3 a[i] + 5 b[i] + value + i. `out` may be `a` or `b`.
void mix_words(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b, std::uint64_t words,
               std::uint32_t value);
void add_words(std::uint32_t* out, std::uint64_t words, std::uint32_t value);

/// The mix kernel's arguments as one struct by value, with a word before them that may hold anything.
struct MixArguments {
  std::uint64_t stale;
  CUdeviceptr out;
  CUdeviceptr a;
  std::uint64_t words;
  CUdeviceptr b;
  std::uint32_t value;
  std::uint32_t unused;
};

/// Handles of the kernels in one context of one driver.
struct Kernels {
  CUfunction fill = nullptr;           ///< (out, words, seed)
  CUfunction mix = nullptr;            ///< (out, a, b, words, value)
  CUfunction mix_by_struct = nullptr;  ///< (MixArguments)
  CUfunction add = nullptr;            ///< (out, words, value)
  CUfunction add_by_table = nullptr;   ///< (table, count, words, value): adds value + i to what entry i names
  CUfunction store = nullptr;          ///< (where, word): writes one 8-byte word, an address perhaps
  CUfunction store_unseen = nullptr;   ///< (low, high, word): the same; no argument names the address

  static Kernels load(const cuda::Driver& driver);
};

}  // namespace tferry::runtime_test
