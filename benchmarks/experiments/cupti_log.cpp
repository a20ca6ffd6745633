// Injection (CUDA_INJECTION64_PATH): keeps CUPTI's kernel, copy and memset records for comparison with
// launch_log.cpp.
#include "benchmarks/experiments/operation_record.hpp"

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace {

using tferry::experiments::OperationKind;
using tferry::experiments::OperationRecord;

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

struct Log {
  std::mutex mutex;
  std::vector<OperationRecord> records;
};

Log& log() {
  static Log* const instance = new Log;
  return *instance;
}

void report(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "cupti_log: %s: %s\n", call, text ? text : "unknown");
}

OperationRecord transfer(OperationKind kind, std::uint64_t order, std::uint64_t bytes, std::uint64_t start,
                         std::uint64_t end, std::uint32_t stream) {
  return {order, 0, bytes, start, end, stream, kind, {0, 0, 0}, {0, 0, 0}};
}

void keep(const CUpti_Activity* activity) {
  const auto positive = [](int x) { return static_cast<std::uint32_t>(x); };
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* k = reinterpret_cast<const CUpti_ActivityKernel10*>(activity);
      log().records.push_back({k->correlationId,
                               0,
                               0,
                               k->start,
                               k->end,
                               k->streamId,
                               OperationKind::kKernel,
                               {positive(k->gridX), positive(k->gridY), positive(k->gridZ)},
                               {positive(k->blockX), positive(k->blockY), positive(k->blockZ)}});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* m = reinterpret_cast<const CUpti_ActivityMemcpy6*>(activity);
      log().records.push_back(
          transfer(OperationKind::kCopy, m->correlationId, m->bytes, m->start, m->end, m->streamId));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* m = reinterpret_cast<const CUpti_ActivityMemset4*>(activity);
      log().records.push_back(
          transfer(OperationKind::kMemset, m->correlationId, m->bytes, m->start, m->end, m->streamId));
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *bytes = *buffer ? kBufferBytes : 0;
  *most_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t valid) {
  {
    const std::lock_guard lock(log().mutex);
    CUpti_Activity* activity = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) keep(activity);
  }
  std::free(buffer);
}

}  // namespace

extern "C" {

int InitializeInjection() {
  report(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed),
         "cuptiActivityRegisterCallbacks");
  report(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "enable kernels");
  report(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), "enable copies");
  report(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), "enable memsets");
  return 1;
}

// Returns the number of records written, or -1. The program's streams are idle.
long tferry_cupti_write(const char* path) {
  report(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  const std::lock_guard lock(log().mutex);
  std::FILE* const file = std::fopen(path, "wb");
  if (!file) return -1;
  const std::size_t written =
      std::fwrite(log().records.data(), sizeof(OperationRecord), log().records.size(), file);
  const bool closed = std::fclose(file) == 0;
  return closed && written == log().records.size() ? static_cast<long>(written) : -1;
}
}
