#pragma once

#include "tests/software_driver/context.hpp"
#include "tests/software_driver/device_heap.hpp"
#include "tests/software_driver/engine.hpp"
#include "tests/software_driver/physical_memory.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tferry::software_driver {

/// Behind a CUmemoryPool: its counts and attributes. Its memory comes from the device's heap, at once and for
/// each allocation anew, so that a use after a stream-ordered free faults.
struct MemoryPool {
  int device = 0;
  std::atomic<std::uint64_t> used{0};
  std::atomic<std::uint64_t> used_high{0};
  std::atomic<int> frees_pending{0};
  std::mutex mutex;
  std::map<int, std::uint64_t> attributes;  ///< guarded by mutex
};

class Device {
 public:
  Device(int device_ordinal, std::size_t memory_size, std::size_t granularity, AddressSpace& heap_addresses)
      : ordinal(device_ordinal),
        memory("swd-device", memory_size),
        heap(heap_addresses, memory, device_ordinal, granularity) {}

  const int ordinal;
  PhysicalMemory memory;
  DeviceHeap heap;
  Engine to_device;
  Engine to_host;
  Engine* link_in = &to_device;  ///< of a copy to this device; of another device where a link is shared
  Engine* link_out = &to_host;
  std::atomic<std::int64_t> inner_bytes{0};  ///< copied within the device, or from a peer
  std::atomic<std::int64_t> kernels{0};
  std::atomic<std::int64_t> kernel_time{0};

  std::shared_ptr<MemoryPool> default_pool = std::make_shared<MemoryPool>();
  CUmemoryPool default_pool_handle = nullptr;
  std::atomic<CUmemoryPool> current_pool{nullptr};

  // The primary context; guarded by primary_mutex.
  std::mutex primary_mutex;
  std::shared_ptr<Context> primary;
  int primary_references = 0;
  unsigned primary_flags = 0;
};

}  // namespace tferry::software_driver
