#include "trace/lasting_records.hpp"

#include "trace/spool_format.hpp"

#include <algorithm>
#include <cstring>

namespace tferry::trace {
namespace {

bool lasts(RecordKind kind) {
  switch (kind) {
    case RecordKind::kProcess:
    case RecordKind::kDevice:
    case RecordKind::kContext:
    case RecordKind::kStream:
    case RecordKind::kString:
    case RecordKind::kNvlink:
    case RecordKind::kRange:
    case RecordKind::kLoss:
      return true;
    default:
      return false;
  }
}

template <typename Record>
std::uint64_t allocation_of(std::span<const std::byte> record) {
  Record read;
  std::memcpy(&read, record.data() + sizeof(RecordHeader),
              std::min(sizeof read, record.size() - sizeof(RecordHeader)));
  return read.allocation;
}

}  // namespace

void LastingRecords::observe(std::span<const std::byte> payload) {
  while (payload.size() > sizeof(RecordHeader)) {
    RecordHeader header;
    std::memcpy(&header, payload.data(), sizeof header);
    const std::size_t padded = (std::size_t{header.size} + 7) / 8 * 8;
    if (header.size < sizeof header || padded > payload.size()) return;
    const std::span<const std::byte> record = payload.first(padded);
    payload = payload.subspan(padded);
    if (lasts(header.kind)) kept_.emplace_back(record.begin(), record.end());
    if (header.kind == RecordKind::kAllocation)
      live_[allocation_of<AllocationRecord>(record)].assign(record.begin(), record.end());
    if (header.kind == RecordKind::kFree) live_.erase(allocation_of<FreeRecord>(record));
  }
}

}  // namespace tferry::trace
