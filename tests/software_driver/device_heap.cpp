#include "tests/software_driver/device_heap.hpp"

#include "tests/software_driver/error.hpp"

#include <iterator>

namespace tferry::software_driver {
namespace {

constexpr std::size_t kAlignment = 512;
constexpr std::size_t kGuard = 65536;

std::size_t rounded(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

DeviceHeap::DeviceHeap(AddressSpace& addresses, PhysicalMemory& memory, int device, std::size_t granularity)
    : addresses_(addresses), memory_(memory), device_(device), granularity_(granularity) {}

DeviceHeap::Range::Range(DeviceHeap& owner, std::size_t bytes)
    : heap(owner), size(rounded(bytes, kAlignment)), base(heap.allocate(size)) {}

DeviceHeap::Range::~Range() { heap.free(base, size); }

Address DeviceHeap::allocate(std::size_t size) {
  require(size <= memory_.capacity(), CUDA_ERROR_OUT_OF_MEMORY);
  const std::lock_guard lock(mutex_);
  if (!small(size)) return map_chunk(rounded(size, granularity_));
  for (auto& [base, block] : blocks_) {
    if (const auto offset = block.free.take(size)) return base + *offset;
  }
  const Address base = map_chunk(granularity_);
  Block& block = blocks_.emplace(base, Block{RangeAllocator(granularity_)}).first->second;
  return base + *block.free.take(size);
}

void DeviceHeap::free(Address base, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (!small(size)) {
    unmap_chunk(base, rounded(size, granularity_));
    return;
  }
  const auto at = std::prev(blocks_.upper_bound(base));
  at->second.free.give(base - at->first, size);
  if (!at->second.free.empty()) return;
  unmap_chunk(at->first, granularity_);
  blocks_.erase(at);
}

Address DeviceHeap::map_chunk(std::size_t size) {
  auto chunk = std::make_shared<Chunk>(memory_, size);
  chunk->device = device_;
  const Address base = addresses_.reserve(size + kGuard, 4096, 0);
  try {
    addresses_.map(base, std::move(chunk));
    addresses_.set_access(base, size, device_, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  } catch (const DriverError&) {
    if (addresses_.mapping_at(base)) addresses_.unmap(base, size);
    addresses_.free(base, size + kGuard);
    throw;
  }
  return base;
}

void DeviceHeap::unmap_chunk(Address base, std::size_t size) {
  addresses_.unmap(base, size);
  addresses_.free(base, size + kGuard);
}

}  // namespace tferry::software_driver
