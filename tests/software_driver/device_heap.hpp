#pragma once

#include "tests/software_driver/address_space.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace tferry::software_driver {

/// The driver's own allocator behind cuMemAlloc: small sizes share blocks, larger ones have mappings of their
/// own, rounded to the granularity and followed by inaccessible pages. Addresses are multiples of 512.
/// Thread-safe.
class DeviceHeap {
 public:
  DeviceHeap(AddressSpace& addresses, PhysicalMemory& memory, int device, std::size_t granularity);

  /// Throws CUDA_ERROR_OUT_OF_MEMORY. The range is freed with its last owner, and must not outlive the heap.
  struct Range {
    Range(DeviceHeap& owner, std::size_t bytes);
    ~Range();
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

    DeviceHeap& heap;
    std::size_t size;
    Address base;
  };

 private:
  struct Block {
    RangeAllocator free;
  };

  bool small(std::size_t size) const noexcept { return size <= granularity_ / 2; }
  Address allocate(std::size_t size);
  void free(Address base, std::size_t size);
  Address map_chunk(std::size_t size);
  void unmap_chunk(Address base, std::size_t size);

  AddressSpace& addresses_;
  PhysicalMemory& memory_;
  const int device_;
  const std::size_t granularity_;
  std::mutex mutex_;
  std::map<Address, Block> blocks_;
};

}  // namespace tferry::software_driver
