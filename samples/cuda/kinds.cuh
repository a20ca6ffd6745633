// What the parts of tferry-sample-kinds share: checks, the lines that say what a recording has to show, a
// kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace kinds {

constexpr std::size_t kBytes = std::size_t{8} << 20;
constexpr std::size_t kWords = kBytes / sizeof(unsigned);

/// Not possible here: no GPU, one GPU for two, no managed memory.
struct NotHere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  if (result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver)
    throw NotHere(cudaGetErrorString(result));
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}
#define CHECK(call) ::kinds::check((call), #call)

/// "known WHAT COUNT[ or more][ of BYTES bytes][ with FIELD=VALUE ...]", where WHAT is a table of the session
/// and a kind in it, and each field narrows down which rows are meant (benchmarks/lib/kind_checks.py).
inline void print_known(const char* what, long count, const char* more, std::size_t bytes,
                        const std::string& with) {
  std::string line = std::string("known ") + what + " " + std::to_string(count) + more;
  if (bytes > 0) line += " of " + std::to_string(bytes) + " bytes";
  if (!with.empty()) line += " with " + with;
  std::printf("%s\n", line.c_str());
}
inline void known(const char* what, long count, std::size_t bytes = 0, const std::string& with = "") {
  print_known(what, count, "", bytes, with);
}
/// Where the driver decides how many there are; bytes, if given, are exact all the same.
inline void known_at_least(const char* what, long count, std::size_t bytes = 0,
                           const std::string& with = "") {
  print_known(what, count, " or more", bytes, with);
}

/// The address itself, or one in the memory behind it.
inline std::string at(const void* address) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(address));
}
inline std::string within(const void* memory, std::size_t bytes) {
  return at(memory) + "+" + std::to_string(bytes);
}

inline void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("wrong: ") + what);
}

namespace {  // each part has a kernel of its own

__global__ void add(unsigned* words, std::size_t count, unsigned value) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    words[i] += value;
  }
}

inline void launch(unsigned* words, unsigned value, cudaStream_t stream) {
  add<<<128, 256, 0, stream>>>(words, kWords, value);
  CHECK(cudaGetLastError());
}

}  // namespace

// Managed memory: kinds_managed.cu.
void managed();
void faults();
void prefetched();
void remote();
void thrashing();

// What the program calls, says and maps: kinds_calls.cu.
void sync();
void nvtx();
void api();
void virtual_memory();

}  // namespace kinds
