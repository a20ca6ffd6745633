#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"

#include <cstring>

namespace tferry::software_driver {
namespace {

bool on_host(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

/// Device of a location, -1 for the host.
int device_of(const CUmemLocation& location) {
  if (on_host(location.type)) return -1;
  require(location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  return driver().device(location.id).ordinal;
}

void check_properties(const CUmemAllocationProp& prop) {
  require(prop.type == CU_MEM_ALLOCATION_TYPE_PINNED);
  device_of(prop.location);
}

bool granular(std::size_t value) { return value % driver().config.granularity == 0; }

CUmemAllocationProp properties_of(const Chunk& chunk) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = static_cast<CUmemLocationType>(chunk.location_type);
  prop.location.id = chunk.location_id;
  return prop;
}

CUmemGenericAllocationHandle create(std::size_t size, const CUmemAllocationProp& prop) {
  check_properties(prop);
  require(size > 0 && granular(size));
  const int device = device_of(prop.location);
  PhysicalMemory& memory = device < 0 ? driver().host_memory : driver().device(device).memory;
  auto chunk = std::make_shared<Chunk>(memory, size);
  chunk->device = device;
  chunk->buffer_id = next_buffer_id();
  chunk->location_type = prop.location.type;
  chunk->location_id = prop.location.id;
  const auto handle = driver().chunks.insert(chunk);
  chunk->handle = handle;
  return handle;
}

void release(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(driver().chunk_mutex);
  const auto chunk = driver().chunks.get(handle, CUDA_ERROR_INVALID_VALUE);
  if (--chunk->references == 0) driver().chunks.remove(handle);
}

CUmemGenericAllocationHandle retain(Address address) {
  const auto mapping = driver().addresses.mapping_at(address);
  require(mapping.has_value());
  const std::lock_guard lock(driver().chunk_mutex);
  // A chunk that lives by its mapping alone gets its handle back.
  if (mapping->chunk->references == 0) mapping->chunk->handle = driver().chunks.insert(mapping->chunk);
  ++mapping->chunk->references;
  return mapping->chunk->handle;
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuMemAddressReserve, (CUdeviceptr * out, std::size_t size, std::size_t alignment, CUdeviceptr hint,
                              unsigned long long flags)) {
  return call(EntryPoint::cuMemAddressReserve, [&] {
    require(granular(size) && flags == 0);
    const std::size_t granularity = driver().config.granularity;
    checked(out) = driver().addresses.reserve(size, alignment < granularity ? granularity : alignment, hint);
  });
}

SWD_API(cuMemAddressFree, (CUdeviceptr base, std::size_t size)) {
  return call(EntryPoint::cuMemAddressFree, [&] { driver().addresses.free(base, size); });
}

SWD_API(cuMemCreate, (CUmemGenericAllocationHandle * out, std::size_t size, const CUmemAllocationProp* prop,
                      unsigned long long flags)) {
  return call(EntryPoint::cuMemCreate, [&] {
    require(flags == 0);
    checked(out) = create(size, checked(prop));
  });
}

SWD_API(cuMemRelease, (CUmemGenericAllocationHandle handle)) {
  return call(EntryPoint::cuMemRelease, [&] { release(handle); });
}

SWD_API(cuMemMap, (CUdeviceptr base, std::size_t size, std::size_t offset,
                   CUmemGenericAllocationHandle handle, unsigned long long flags)) {
  return call(EntryPoint::cuMemMap, [&] {
    const auto chunk = driver().chunks.get(handle, CUDA_ERROR_INVALID_VALUE);
    require(offset == 0 && size == chunk->size && flags == 0 && granular(base));
    driver().addresses.map(base, chunk);
  });
}

SWD_API(cuMemUnmap, (CUdeviceptr base, std::size_t size)) {
  return call(EntryPoint::cuMemUnmap, [&] { driver().addresses.unmap(base, size); });
}

SWD_API(cuMemSetAccess,
        (CUdeviceptr base, std::size_t size, const CUmemAccessDesc* desc, std::size_t count)) {
  return call(EntryPoint::cuMemSetAccess, [&] {
    require(count > 0);
    for (std::size_t i = 0; i < count; ++i) device_of((&checked(desc))[i].location);
    for (std::size_t i = 0; i < count; ++i) {
      driver().addresses.set_access(base, size, device_of(desc[i].location), desc[i].flags);
    }
  });
}

SWD_API(cuMemGetAccess, (unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address)) {
  return call(EntryPoint::cuMemGetAccess, [&] {
    const auto mapping = driver().addresses.mapping_at(address);
    require(mapping.has_value());
    const int device = device_of(checked(location));
    const auto index = static_cast<std::size_t>(device);
    checked(flags) = device < 0                       ? mapping->host_access
                     : index < mapping->access.size() ? mapping->access[index]
                                                      : 0;
  });
}

SWD_API(cuMemGetAllocationGranularity,
        (std::size_t* granularity, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags)) {
  return call(EntryPoint::cuMemGetAllocationGranularity, [&] {
    check_properties(checked(prop));
    checked(granularity) = driver().config.granularity;
  });
}

SWD_API(cuMemGetAllocationPropertiesFromHandle,
        (CUmemAllocationProp * prop, CUmemGenericAllocationHandle handle)) {
  return call(EntryPoint::cuMemGetAllocationPropertiesFromHandle,
              [&] { checked(prop) = properties_of(*driver().chunks.get(handle, CUDA_ERROR_INVALID_VALUE)); });
}

SWD_API(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * out, void* address)) {
  return call(EntryPoint::cuMemRetainAllocationHandle,
              [&] { checked(out) = retain(reinterpret_cast<Address>(address)); });
}

SWD_API(cuMemExportToShareableHandle,
        (void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long)) {
  return call(EntryPoint::cuMemExportToShareableHandle, [] { throw DriverError(CUDA_ERROR_NOT_SUPPORTED); });
}

SWD_API(cuMemImportFromShareableHandle, (CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType)) {
  return call(EntryPoint::cuMemImportFromShareableHandle,
              [] { throw DriverError(CUDA_ERROR_NOT_SUPPORTED); });
}

SWD_API(cuMemGetHandleForAddressRange,
        (void*, CUdeviceptr, std::size_t, CUmemRangeHandleType, unsigned long long)) {
  return call(EntryPoint::cuMemGetHandleForAddressRange, [] { throw DriverError(CUDA_ERROR_NOT_SUPPORTED); });
}

SWD_API(cuIpcGetMemHandle, (CUipcMemHandle*, CUdeviceptr)) {
  return call(EntryPoint::cuIpcGetMemHandle, [] { throw DriverError(CUDA_ERROR_NOT_SUPPORTED); });
}
