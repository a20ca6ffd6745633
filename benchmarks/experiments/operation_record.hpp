#pragma once

#include <cstdint>

namespace tferry::experiments {

enum class OperationKind : std::uint32_t { kKernel = 1, kCopy = 2, kMemset = 3 };

/// One operation of a stream as either side saw it: the preloaded hooks (order = number of the call) or CUPTI
/// (order = correlation id). Files are arrays of these; join.py reads them.
struct OperationRecord {
  std::uint64_t order;
  std::uint64_t driver_stream;  // cuStreamGetId; 0 where CUPTI speaks
  std::uint64_t bytes;          // copies and memsets
  std::uint64_t start;          // CUPTI only
  std::uint64_t end;            // CUPTI only
  std::uint32_t cupti_stream;   // cuptiGetStreamIdEx or the record's stream
  OperationKind kind;
  std::uint32_t grid[3];
  std::uint32_t block[3];
};
static_assert(sizeof(OperationRecord) == 72);

}  // namespace tferry::experiments
