#pragma once

#include "tests/software_driver/address_space.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tferry::software_driver {

/// One live allocation other than VMM mappings. Its memory goes with it.
struct Allocation {
  enum class Kind { kDevice, kPool, kHost, kRegistered, kManaged };

  Kind kind = Kind::kDevice;
  Address base = 0;
  std::size_t size = 0;  ///< as asked for
  int device = 0;
  CUcontext context = nullptr;
  unsigned flags = 0;           ///< of cuMemHostAlloc and cuMemHostRegister
  CUmemoryPool pool = nullptr;  ///< of kPool
  std::uint64_t buffer_id = 0;  ///< never used twice
  std::atomic<bool> sync_memops{false};
  std::atomic<bool> graph_owned{false};  ///< by a memory node of a captured graph
  std::atomic<int> prefetched_to{-2};    ///< of kManaged: device, -1 host, -2 nowhere yet
  std::shared_ptr<void> storage;
};

/// The live allocations by address. Thread-safe.
class AllocationTable {
 public:
  void insert(std::shared_ptr<Allocation> allocation);
  /// The allocation that contains the address; null if none does.
  std::shared_ptr<Allocation> find(Address address) const;
  /// Takes out the allocation that begins at `base`; null if none does.
  std::shared_ptr<Allocation> remove(Address base);
  /// Takes out all of a context that is being destroyed.
  std::vector<std::shared_ptr<Allocation>> remove_context(CUcontext context);
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<Address, std::shared_ptr<Allocation>> by_base_;
};

std::uint64_t next_buffer_id();

}  // namespace tferry::software_driver
