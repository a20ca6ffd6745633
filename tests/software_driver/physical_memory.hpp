#pragma once

#include "tests/software_driver/range_allocator.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace tferry::software_driver {

/// The memory of one device, or the host's share for host chunks: one sparse memfd with a first-fit allocator
/// of its offsets, so that ten thousand handles need one file descriptor. Freed ranges are punched out of the
/// file, which gives their pages back. Counts bytes against a capacity. Thread-safe.
class PhysicalMemory {
 public:
  PhysicalMemory(const char* name, std::size_t capacity);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  int file() const noexcept { return file_; }
  std::size_t capacity() const;
  std::size_t used() const;
  std::size_t peak() const;
  void set_capacity(std::size_t bytes);
  void clear_peak();
  /// Fill what is allocated from now on with 0xA5 instead of zeros.
  void set_poison(bool on);

  /// Offset of `size` bytes, zero-filled or poisoned (a multiple of the page size); nothing when the capacity
  /// does not allow it.
  std::optional<std::size_t> allocate(std::size_t size);
  void free(std::size_t offset, std::size_t size);

 private:
  mutable std::mutex mutex_;
  int file_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  bool poison_ = false;
  RangeAllocator offsets_;
};

/// A range of physical memory, freed with its last owner: the program's handle and every mapping own it.
/// `device` is -1 for host memory, `location_type` and `location_id` are what the program asked for.
struct Chunk {
  Chunk(PhysicalMemory& memory, std::size_t size);  ///< throws CUDA_ERROR_OUT_OF_MEMORY
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  PhysicalMemory& memory;
  std::size_t size;
  std::size_t offset;
  int device = -1;
  int location_type = 0;
  int location_id = 0;
  unsigned long long handle = 0;
  unsigned long long buffer_id = 0;  ///< of the pointer attributes
  int references = 1;                ///< of the handle; guarded by the table of handles' user
};

}  // namespace tferry::software_driver
