// Preload: writes down every cuMemAlloc and cuMemFree of a program, in order, and marks set by it.
#include "benchmarks/experiments/interpose.hpp"

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace {

// 16 bytes, little endian, as in the file: an array of these and nothing else.
struct Record {
  std::uint32_t operation;  // 0 allocate, 1 free, 2 mark
  std::uint32_t id;         // of the allocation, from 0 on, or the mark's number
  std::uint64_t bytes;      // as asked for; 0 for a mark
};

struct Log {
  std::mutex mutex;
  std::vector<Record> records;
  std::unordered_map<CUdeviceptr, Record> live;
  std::uint32_t next_id = 0;
};

Log& log() {
  static Log* const instance = new Log;
  return *instance;
}

}  // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const CUresult result = TFERRY_REAL(cuMemAlloc_v2)(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(log().mutex);
  const Record record{0, log().next_id++, bytes};
  log().records.push_back(record);
  log().live[*address] = record;
  return result;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  {
    const std::lock_guard lock(log().mutex);
    const auto found = log().live.find(address);
    if (found != log().live.end()) {
      log().records.push_back({1, found->second.id, found->second.bytes});
      log().live.erase(found);
    }
  }
  return TFERRY_REAL(cuMemFree_v2)(address);
}

void tferry_alloc_mark(std::uint32_t number) {
  const std::lock_guard lock(log().mutex);
  log().records.push_back({2, number, 0});
}

// Returns the number of records written, or -1.
long tferry_alloc_write(const char* path) {
  const std::lock_guard lock(log().mutex);
  std::FILE* const file = std::fopen(path, "wb");
  if (!file) return -1;
  const size_t written = std::fwrite(log().records.data(), sizeof(Record), log().records.size(), file);
  const bool closed = std::fclose(file) == 0;
  return closed && written == log().records.size() ? static_cast<long>(written) : -1;
}
}

namespace tferry::experiments {

std::span<Hook> hooks() {
  static Hook all[] = {TFERRY_HOOK(cuMemAlloc_v2), TFERRY_HOOK(cuMemFree_v2)};
  return all;
}

}  // namespace tferry::experiments
