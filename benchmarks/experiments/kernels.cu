#include "benchmarks/experiments/kernels.hpp"
#include "benchmarks/experiments/scan_kernel.cuh"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace tferry::experiments {
namespace {

void check_launch(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

template <class T>
T* pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

__global__ void empty() {}

__global__ void copy_words(unsigned* destination, const unsigned* source, unsigned words) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) destination[i] = source[i];
}

__global__ void burn(float* sink, std::int64_t iterations) {
  float a = threadIdx.x;
  for (std::int64_t i = 0; i < iterations; ++i) a = a * 1.0001f + 0.5f;
  if (a == 42.0f) *sink = a;
}

__global__ void scan(const ulonglong2* memory, std::uint64_t count, std::uint64_t base, std::uint64_t range,
                     unsigned* bitmap, unsigned long long* hits) {
  scan_memory(memory, count, base, range, bitmap, hits);
}

// splitmix64 (Steele, Lea, Flood 2014), finaliser.
__device__ std::uint64_t hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Box and Muller: two normal variates from one hash.
__device__ float2 normal_pair(std::uint64_t seed) {
  const std::uint64_t h = hash(seed);
  const float u = (static_cast<float>(h >> 40) + 0.5f) * 0x1p-24f;
  const float v = static_cast<float>(h & 0xffffff) * 0x1p-24f;
  const float radius = sqrtf(-2.0f * logf(u));
  return {radius * cospif(2.0f * v), radius * sinpif(2.0f * v)};
}

__device__ std::uint64_t pack(float low, float high) {
  return (static_cast<std::uint64_t>(__float_as_uint(high)) << 32) | __float_as_uint(low);
}

__device__ std::uint64_t bfloat_bits(float x) { return __bfloat16_as_ushort(__float2bfloat16(x)); }

__device__ std::uint64_t fill_word(std::uint64_t i, const FillPattern& p) {
  switch (p.fill) {
    case Fill::kZeroWithPointers:
      return p.period && i % p.period == 0 ? p.base + hash(i) % p.range : 0;
    case Fill::kFloatNormal: {
      const float2 x = normal_pair(i);
      return pack(x.x, x.y);
    }
    case Fill::kFloatNormalRectified: {
      const float2 x = normal_pair(i);
      return pack(fmaxf(x.x, 0.0f), fmaxf(x.y, 0.0f));
    }
    case Fill::kBfloatNormal: {
      const float2 x = normal_pair(2 * i);
      const float2 y = normal_pair(2 * i + 1);
      return bfloat_bits(x.x) | bfloat_bits(x.y) << 16 | bfloat_bits(y.x) << 32 | bfloat_bits(y.y) << 48;
    }
    case Fill::kTokenIds:
      return hash(i) % 50257;
    case Fill::kTokenIds32:
      return hash(2 * i) % 50257 | (hash(2 * i + 1) % 50257) << 32;
    case Fill::kRandomBytes:
      return hash(i);
  }
  return 0;
}

__global__ void fill(std::uint64_t* memory, std::uint64_t count, FillPattern pattern) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += stride) {
    memory[i] = fill_word(i, pattern);
  }
}

__global__ void writer(unsigned* words, std::uint64_t count, unsigned value) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  float delay = threadIdx.x;
  for (int i = 0; i < 20000; ++i) delay = delay * 1.0001f + 0.5f;
  const unsigned stored = delay == 42.0f ? ~value : value;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count; i += stride) {
    words[i] = stored;
  }
}

__global__ void reader(const unsigned* words, std::uint64_t count, unsigned value, bool wait,
                       bool read_before, unsigned long long* stale, unsigned* sink) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t first = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  if (read_before) {
    unsigned sum = 0;
    for (std::uint64_t i = first; i < count; i += stride) sum += words[i];
    if (sum == 0xdeadbeefu) *sink = sum;
  }
#if __CUDA_ARCH__ >= 900
  if (wait) cudaGridDependencySynchronize();
#endif
  // volatile would bypass the first-level cache, and with it what is to be found out.
  unsigned long long wrong = 0;
  for (std::uint64_t i = first; i < count; i += stride) wrong += words[i] != value;
  if (wrong) atomicAdd(stale, wrong);
}

}  // namespace

void launch_empty(CUstream stream) {
  empty<<<1, 1, 0, stream>>>();
  check_launch(cudaGetLastError(), "empty");
}

void launch_copy(CUdeviceptr destination, CUdeviceptr source, unsigned words, CUstream stream) {
  copy_words<<<1, 256, 0, stream>>>(pointer<unsigned>(destination), pointer<unsigned>(source), words);
  check_launch(cudaGetLastError(), "copy_words");
}

void launch_burn(CUdeviceptr sink, int blocks, std::int64_t iterations, CUstream stream) {
  burn<<<blocks, 256, 0, stream>>>(pointer<float>(sink), iterations);
  check_launch(cudaGetLastError(), "burn");
}

void launch_scan(CUdeviceptr memory, std::size_t bytes, std::uint64_t base, std::uint64_t range,
                 CUdeviceptr bitmap, CUdeviceptr result, CUstream stream) {
  scan<<<kScanBlocks, kScanThreads, 0, stream>>>(pointer<const ulonglong2>(memory), bytes / 16, base, range,
                                                 pointer<unsigned>(bitmap),
                                                 pointer<unsigned long long>(result));
  check_launch(cudaGetLastError(), "scan");
}

void launch_fill(CUdeviceptr memory, std::size_t bytes, FillPattern pattern, CUstream stream) {
  fill<<<132 * 8, 256, 0, stream>>>(pointer<std::uint64_t>(memory), bytes / 8, pattern);
  check_launch(cudaGetLastError(), "fill");
}

void launch_pair(CUdeviceptr written, CUdeviceptr read, std::size_t bytes, std::uint32_t value,
                 Dependency dependency, bool read_before, CUdeviceptr stale, CUdeviceptr sink,
                 CUstream stream) {
  constexpr unsigned kBlocks = 132;
  constexpr unsigned kThreads = 256;
  writer<<<kBlocks, kThreads, 0, stream>>>(pointer<unsigned>(written), bytes / 4, value);
  check_launch(cudaGetLastError(), "writer");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = kBlocks;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = dependency == Dependency::kFull ? 0 : 1;
  check_launch(cudaLaunchKernelEx(&config, reader, static_cast<const unsigned*>(pointer<unsigned>(read)),
                                  static_cast<std::uint64_t>(bytes / 4), value,
                                  dependency == Dependency::kProgrammatic, read_before,
                                  pointer<unsigned long long>(stale), pointer<unsigned>(sink)),
               "reader");
}

}  // namespace tferry::experiments
