#pragma once

#include "benchmarks/experiments/driver.hpp"

#include <cuda.h>

#include <cstddef>
#include <vector>

namespace tferry::experiments {

/// An address range of ours, reserved for good; nothing is mapped in it.
class ReservedRange {
 public:
  explicit ReservedRange(std::size_t bytes);
  ~ReservedRange();
  ReservedRange(const ReservedRange&) = delete;
  ReservedRange& operator=(const ReservedRange&) = delete;
  CUdeviceptr base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

 private:
  CUdeviceptr base_ = 0;
  std::size_t bytes_ = 0;
};

/// Where the memory of a chunk lies.
enum class Location { kDevice, kHostNuma };

CUmemAllocationProp chunk_properties(Location location);

/// Physical chunks of one size (cuMemCreate), released with the object; mapped by nobody at first.
/// Whoever maps them unmaps them before.
class ChunkPool {
 public:
  ChunkPool(std::size_t chunk_bytes, Location location) : chunk_bytes_(chunk_bytes), location_(location) {}
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  /// Creates one more chunk.
  void grow();
  std::size_t size() const { return handles_.size(); }
  std::size_t chunk_bytes() const { return chunk_bytes_; }
  CUmemGenericAllocationHandle operator[](std::size_t index) const { return handles_[index]; }

 private:
  std::size_t chunk_bytes_;
  Location location_;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

void map_chunk(CUdeviceptr address, const ChunkPool& pool, std::size_t index);
/// Makes [address, address + bytes) readable and writable for device 0: one cuMemSetAccess.
void allow_access(CUdeviceptr address, std::size_t bytes);
void unmap(CUdeviceptr address, std::size_t bytes);

/// `count` new chunks, mapped one after another and accessible, as one contiguous buffer.
class MappedChunks {
 public:
  MappedChunks(std::size_t chunk_bytes, std::size_t count, Location location);
  ~MappedChunks();
  MappedChunks(const MappedChunks&) = delete;
  MappedChunks& operator=(const MappedChunks&) = delete;
  CUdeviceptr base() const { return range_.base(); }
  std::size_t bytes() const { return range_.bytes(); }
  const ChunkPool& pool() const { return pool_; }

 private:
  ChunkPool pool_;
  ReservedRange range_;
};

}  // namespace tferry::experiments
