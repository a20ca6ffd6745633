// Preload: writes down every successful launch, copy and memset with its stream, in the order of the calls.
#include "benchmarks/experiments/interpose.hpp"
#include "benchmarks/experiments/operation_record.hpp"

#include <cuda.h>
#include <cupti_result.h>

#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace {

using tferry::experiments::OperationKind;
using tferry::experiments::OperationRecord;

struct StreamIds {
  std::uint64_t driver;
  std::uint32_t cupti;
};

struct Log {
  std::mutex mutex;
  std::vector<OperationRecord> records;
  std::unordered_map<CUstream, StreamIds> streams;
  std::uint64_t graph_launches = 0;
};

Log& log() {
  static Log* const instance = new Log;
  return *instance;
}

std::uint32_t cupti_stream_id(CUstream stream) {
  using GetStreamIdEx = CUptiResult (*)(CUcontext, CUstream, std::uint8_t, std::uint32_t*);
  static const auto get = [] {
    void* const library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    return library ? reinterpret_cast<GetStreamIdEx>(dlsym(library, "cuptiGetStreamIdEx")) : nullptr;
  }();
  CUcontext context = nullptr;
  std::uint32_t id = ~0u;
  if (get && TFERRY_REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS) get(context, stream, 0, &id);
  return id;
}

StreamIds identify(CUstream stream) {
  unsigned long long driver = 0;
  TFERRY_REAL(cuStreamGetId)(stream, &driver);
  return {driver, cupti_stream_id(stream)};
}

void note(CUstream stream, OperationRecord record) {
  Log& l = log();
  const std::lock_guard lock(l.mutex);
  auto found = l.streams.find(stream);
  if (found == l.streams.end()) found = l.streams.emplace(stream, identify(stream)).first;
  record.order = l.records.size();
  record.driver_stream = found->second.driver;
  record.cupti_stream = found->second.cupti;
  l.records.push_back(record);
}

CUresult noted(CUresult result, CUstream stream, OperationKind kind, std::uint64_t bytes) {
  if (result == CUDA_SUCCESS && bytes) {
    OperationRecord record{};
    record.kind = kind;
    record.bytes = bytes;
    note(stream, record);
  }
  return result;
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  const CUresult result = TFERRY_REAL(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y,
                                                      block_z, shared_bytes, stream, parameters, extra);
  if (result == CUDA_SUCCESS) {
    note(stream,
         {0, 0, 0, 0, 0, 0, OperationKind::kKernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}});
  }
  return result;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  const CUresult result = TFERRY_REAL(cuLaunchKernelEx)(config, function, parameters, extra);
  if (result == CUDA_SUCCESS) {
    note(config->hStream, {0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           OperationKind::kKernel,
                           {config->gridDimX, config->gridDimY, config->gridDimZ},
                           {config->blockDimX, config->blockDimY, config->blockDimZ}});
  }
  return result;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return noted(TFERRY_REAL(cuMemcpyAsync)(to, from, bytes, stream), stream, OperationKind::kCopy, bytes);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return noted(TFERRY_REAL(cuMemcpyHtoDAsync_v2)(to, from, bytes, stream), stream, OperationKind::kCopy,
               bytes);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return noted(TFERRY_REAL(cuMemcpyDtoHAsync_v2)(to, from, bytes, stream), stream, OperationKind::kCopy,
               bytes);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return noted(TFERRY_REAL(cuMemcpyDtoDAsync_v2)(to, from, bytes, stream), stream, OperationKind::kCopy,
               bytes);
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return noted(TFERRY_REAL(cuMemcpy)(to, from, bytes), nullptr, OperationKind::kCopy, bytes);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return noted(TFERRY_REAL(cuMemcpyHtoD_v2)(to, from, bytes), nullptr, OperationKind::kCopy, bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return noted(TFERRY_REAL(cuMemcpyDtoH_v2)(to, from, bytes), nullptr, OperationKind::kCopy, bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return noted(TFERRY_REAL(cuMemcpyDtoD_v2)(to, from, bytes), nullptr, OperationKind::kCopy, bytes);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return noted(TFERRY_REAL(cuMemcpy2DAsync_v2)(copy, stream), stream, OperationKind::kCopy,
               copy->WidthInBytes * copy->Height);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return noted(TFERRY_REAL(cuMemsetD8Async)(to, value, count, stream), stream, OperationKind::kMemset, count);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return noted(TFERRY_REAL(cuMemsetD16Async)(to, value, count, stream), stream, OperationKind::kMemset,
               2 * count);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return noted(TFERRY_REAL(cuMemsetD32Async)(to, value, count, stream), stream, OperationKind::kMemset,
               4 * count);
}
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  const CUresult result = TFERRY_REAL(cuGraphLaunch)(graph, stream);
  const std::lock_guard lock(log().mutex);
  ++log().graph_launches;
  return result;
}

std::uint64_t tferry_launch_graphs() { return log().graph_launches; }

// Returns the number of records written, or -1.
long tferry_launch_write(const char* path) {
  const std::lock_guard lock(log().mutex);
  std::FILE* const file = std::fopen(path, "wb");
  if (!file) return -1;
  const size_t written =
      std::fwrite(log().records.data(), sizeof(OperationRecord), log().records.size(), file);
  const bool closed = std::fclose(file) == 0;
  return closed && written == log().records.size() ? static_cast<long>(written) : -1;
}
}

namespace tferry::experiments {

std::span<Hook> hooks() {
  static Hook all[] = {TFERRY_HOOK(cuLaunchKernel),
                       TFERRY_HOOK(cuLaunchKernelEx),
                       TFERRY_HOOK(cuMemcpyAsync),
                       TFERRY_HOOK(cuMemcpyHtoDAsync_v2),
                       TFERRY_HOOK(cuMemcpyDtoHAsync_v2),
                       TFERRY_HOOK(cuMemcpyDtoDAsync_v2),
                       TFERRY_HOOK(cuMemcpy),
                       TFERRY_HOOK(cuMemcpyHtoD_v2),
                       TFERRY_HOOK(cuMemcpyDtoH_v2),
                       TFERRY_HOOK(cuMemcpyDtoD_v2),
                       TFERRY_HOOK(cuMemcpy2DAsync_v2),
                       TFERRY_HOOK(cuMemsetD8Async),
                       TFERRY_HOOK(cuMemsetD16Async),
                       TFERRY_HOOK(cuMemsetD32Async),
                       TFERRY_HOOK(cuGraphLaunch)};
  return all;
}

}  // namespace tferry::experiments
