#include "runtime/other_memory.hpp"

#include "runtime/device_memory.hpp"
#include "runtime/recorder.hpp"
#include "trace/job_status.hpp"

#include <algorithm>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tferry::runtime {
namespace {

using trace::AllocationApi;
using trace::MemoryKind;

/// Behind the numbers of every device's allocations.
constexpr std::uint64_t kFirstNumber = kBuffersOfDevice * trace::kMaxDevices;

MemoryKind kind_of(AllocationApi api) {
  switch (api) {
    case AllocationApi::kManaged:
      return MemoryKind::kManaged;
    case AllocationApi::kHost:
    case AllocationApi::kHostRegister:
      return MemoryKind::kPinned;
    case AllocationApi::kArray:
      return MemoryKind::kArray;
    case AllocationApi::kUnknown:
    case AllocationApi::kAlloc:
    case AllocationApi::kAllocAsync:
    case AllocationApi::kPool:
    case AllocationApi::kVirtual:
    case AllocationApi::kPitch:
      break;
  }
  return MemoryKind::kDevice;
}

/// The node on which a page lies; -1: the system does not tell.
int numa_node_of(std::uint64_t address) {
  int node = -1;
  const long result = ::syscall(SYS_get_mempolicy, &node, nullptr, 0UL, address, MPOL_F_NODE | MPOL_F_ADDR);
  return result == 0 ? node : -1;
}

}  // namespace

std::uint64_t OtherMemory::record(AllocationApi api, std::uint64_t address, std::size_t bytes, int device) {
  const std::uint64_t number = kFirstNumber + ++made_;
  const MemoryKind kind = kind_of(api);
  recorder_.other_allocation(number, api, kind, kind == MemoryKind::kPinned ? numa_node_of(address) : -1,
                             address, bytes, device);
  return number;
}

void OtherMemory::allocated(AllocationApi api, std::uint64_t address, std::size_t bytes, int device) {
  if (address == 0 || bytes == 0 || address + bytes < address) return;
  freed(address);
  by_address_[address] = {record(api, address, bytes, device), bytes};
  lowest_ = std::min(lowest_, address);
  highest_ = std::max(highest_, address + bytes);
}

void OtherMemory::freed(std::uint64_t address) {
  const auto known = by_address_.find(address);
  if (known == by_address_.end()) return;
  recorder_.free(known->second.allocation);
  by_address_.erase(known);
}

void OtherMemory::unmapped(std::uint64_t address, std::size_t bytes) {
  if (address + bytes < address) return;
  const auto first = by_address_.lower_bound(address), last = by_address_.lower_bound(address + bytes);
  for (auto known = first; known != last; ++known) recorder_.free(known->second.allocation);
  by_address_.erase(first, last);
}

void OtherMemory::array_made(const void* handle, std::size_t bytes, int device) {
  array_destroyed(handle);
  arrays_[handle] = record(AllocationApi::kArray, 0, bytes, device);
}

void OtherMemory::array_destroyed(const void* handle) {
  const auto known = arrays_.find(handle);
  if (known == arrays_.end()) return;
  recorder_.free(known->second);
  arrays_.erase(known);
}

void OtherMemory::pool_operation(const trace::PoolOperationRecord& call) { recorder_.pool_operation(call); }

std::optional<OtherMemory::Found> OtherMemory::find_between(std::uint64_t word) const {
  auto above = by_address_.upper_bound(word);
  if (above == by_address_.begin()) return std::nullopt;
  const auto& [address, entry] = *--above;
  if (word - address >= entry.bytes) return std::nullopt;
  return Found{entry.allocation, address};
}

}  // namespace tferry::runtime
