#include "benchmarks/experiments/chunks.hpp"

namespace tferry::experiments {

ReservedRange::ReservedRange(std::size_t bytes) : bytes_(bytes) {
  TFERRY_CU(cuMemAddressReserve(&base_, bytes, 0, 0, 0));
}
ReservedRange::~ReservedRange() { cuMemAddressFree(base_, bytes_); }

CUmemAllocationProp chunk_properties(Location location) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type =
      location == Location::kDevice ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST_NUMA;
  properties.location.id = 0;
  return properties;
}

ChunkPool::~ChunkPool() {
  for (const auto handle : handles_) cuMemRelease(handle);
}

void ChunkPool::grow() {
  const auto properties = chunk_properties(location_);
  CUmemGenericAllocationHandle handle = 0;
  TFERRY_CU(cuMemCreate(&handle, chunk_bytes_, &properties, 0));
  handles_.push_back(handle);
}

void map_chunk(CUdeviceptr address, const ChunkPool& pool, std::size_t index) {
  TFERRY_CU(cuMemMap(address, pool.chunk_bytes(), 0, pool[index], 0));
}

void allow_access(CUdeviceptr address, std::size_t bytes) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = 0;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  TFERRY_CU(cuMemSetAccess(address, bytes, &access, 1));
}

void unmap(CUdeviceptr address, std::size_t bytes) { TFERRY_CU(cuMemUnmap(address, bytes)); }

MappedChunks::MappedChunks(std::size_t chunk_bytes, std::size_t count, Location location)
    : pool_(chunk_bytes, location), range_(chunk_bytes * count) {
  for (std::size_t i = 0; i < count; ++i) {
    pool_.grow();
    map_chunk(range_.base() + i * chunk_bytes, pool_, i);
  }
  allow_access(range_.base(), range_.bytes());
}

MappedChunks::~MappedChunks() { cuMemUnmap(range_.base(), range_.bytes()); }

}  // namespace tferry::experiments
