#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/memory_operations.hpp"
#include "tests/software_driver/pages.hpp"

#include <cstring>

namespace tferry::software_driver {
namespace {

/// What the pointer attributes are made of, for allocations and mappings alike.
struct PointerFacts {
  Address base = 0;
  std::size_t size = 0;
  int device = 0;  ///< -1 for host memory
  bool managed = false;
  bool legacy_ipc = false;
  bool sync_memops = false;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
  std::uint64_t buffer_id = 0;
};

bool find_facts(Address address, PointerFacts& facts) {
  using Kind = Allocation::Kind;
  if (const auto allocation = driver().allocations.find(address)) {
    const bool host = allocation->kind == Kind::kHost || allocation->kind == Kind::kRegistered;
    facts = {allocation->base,
             allocation->size,
             host ? -1 : allocation->device,
             allocation->kind == Kind::kManaged,
             allocation->kind == Kind::kDevice,
             allocation->sync_memops,
             allocation->context,
             allocation->pool,
             allocation->buffer_id};
    return true;
  }
  if (const auto mapping = driver().addresses.mapping_at(address)) {
    facts = {mapping->base, mapping->chunk->size,     mapping->chunk->device, false, false, false, nullptr,
             nullptr,       mapping->chunk->buffer_id};
    return true;
  }
  return false;
}

template <class T>
void put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

void put_attribute(void* data, CUpointer_attribute which, Address address, const PointerFacts& facts) {
  const bool host = facts.device < 0;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      require(facts.context != nullptr);
      put<CUcontext>(data, facts.context);
      return;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      put<unsigned>(data, host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      put<CUdeviceptr>(data, address);
      return;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      require(host || facts.managed);
      put<void*>(data, reinterpret_cast<void*>(address));
      return;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      put<unsigned>(data, facts.sync_memops ? 1 : 0);
      return;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      put<unsigned long long>(data, facts.buffer_id);
      return;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put<unsigned>(data, facts.managed ? 1 : 0);
      return;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put<int>(data, host ? 0 : facts.device);
      return;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      put<unsigned>(data, facts.legacy_ipc ? 1 : 0);
      return;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      put<CUdeviceptr>(data, facts.base);
      return;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      put<std::size_t>(data, facts.size);
      return;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      put<unsigned>(data, 1);
      return;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      put<unsigned long long>(data, 0);
      return;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      put<unsigned>(data, 0);
      return;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      put<int>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
      return;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      put<CUmemoryPool>(data, facts.pool);
      return;
    default:
      throw DriverError(CUDA_ERROR_INVALID_VALUE);
  }
}

std::size_t size_of_attribute(CUpointer_attribute which) {
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return 4;
    default:
      return 8;
  }
}

std::shared_ptr<Allocation> managed_at(CUdeviceptr address, std::size_t size) {
  auto allocation = driver().allocations.find(address);
  require(allocation && allocation->kind == Allocation::Kind::kManaged);
  require(size <= allocation->size - (address - allocation->base));
  return allocation;
}

int location_number(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? driver().device(location.id).ordinal : -1;
}

void prefetch(CUdeviceptr address, std::size_t size, const CUmemLocation& location, CUstream handle,
              bool discard = false) {
  const auto allocation = managed_at(address, size);
  const auto stream = stream_of(handle);
  const int to = location_number(location);
  Work work;
  work.bytes = static_cast<std::int64_t>(size);
  Device& device = to >= 0 ? driver().device(to) : stream->context()->device();
  work.engine = to >= 0 ? &device.to_device : &device.to_host;
  const double rate = to >= 0 ? driver().h2d_gbps.load() : driver().d2h_gbps.load();
  work.duration = static_cast<Nanoseconds>(static_cast<double>(size) / rate);
  work.run = [allocation, to, address, size, discard] {
    allocation->prefetched_to = to;
    bring_pages(address, size, to);
    // The contents become undefined: what relies on them shall notice.
    if (discard) std::memset(reinterpret_cast<void*>(address), 0xdb, size);
  };
  stream->context()->submit(*stream, std::move(work));
}

/// The contents become undefined where they are: what relies on them shall notice.
void discard(CUdeviceptr address, std::size_t size, CUstream handle) {
  const auto allocation = managed_at(address, size);
  const auto stream = stream_of(handle);
  Work work;
  work.run = [allocation, address, size] { std::memset(reinterpret_cast<void*>(address), 0xdb, size); };
  stream->context()->submit(*stream, std::move(work));
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuPointerGetAttribute, (void* data, CUpointer_attribute which, CUdeviceptr address)) {
  return call(EntryPoint::cuPointerGetAttribute, [&] {
    require(data != nullptr);
    PointerFacts facts;
    require(find_facts(address, facts));
    put_attribute(data, which, address, facts);
  });
}

SWD_API(cuPointerGetAttributes,
        (unsigned count, CUpointer_attribute* which, void** data, CUdeviceptr address)) {
  return call(EntryPoint::cuPointerGetAttributes, [&] {
    PointerFacts facts;
    const bool found = find_facts(address, facts);
    require(count > 0 && which && data);
    for (unsigned i = 0; i < count; ++i) {
      require(data[i] != nullptr);
      std::memset(data[i], 0, size_of_attribute(which[i]));
      if (!found) continue;
      try {
        put_attribute(data[i], which[i], address, facts);
      } catch (const DriverError&) {
        // An attribute that does not apply is left at zero.
      }
    }
  });
}

SWD_API(cuPointerSetAttribute, (const void* value, CUpointer_attribute which, CUdeviceptr address)) {
  return call(EntryPoint::cuPointerSetAttribute, [&] {
    require(which == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && value);
    const auto allocation = driver().allocations.find(address);
    require(allocation != nullptr);
    allocation->sync_memops = *static_cast<const unsigned*>(value) != 0;
  });
}

SWD_STREAM_API(cuMemPrefetchAsync_v2,
               (CUdeviceptr address, std::size_t size, CUmemLocation location, unsigned flags,
                CUstream stream),
               require(flags == 0);
               prefetch(address, size, location, stream))

SWD_STREAM_API(cuMemDiscardAndPrefetchBatchAsync,
               (CUdeviceptr * addresses, std::size_t* sizes, std::size_t count, CUmemLocation* locations,
                std::size_t* first, std::size_t location_count, unsigned long long flags, CUstream stream),
               require(addresses&& sizes&& locations&& first&& count > 0 && flags == 0);
               require(location_count == 1 && first[0] == 0, CUDA_ERROR_NOT_SUPPORTED);
               for (std::size_t i = 0; i < count; ++i)
                   prefetch(addresses[i], sizes[i], locations[0], stream, true))

SWD_STREAM_API(cuMemDiscardBatchAsync,
               (CUdeviceptr * addresses, std::size_t* sizes, std::size_t count, unsigned long long flags,
                CUstream stream),
               require(addresses&& sizes&& count > 0 && flags == 0 && stream != nullptr);
               for (std::size_t i = 0; i < count; ++i) discard(addresses[i], sizes[i], stream))

SWD_API(cuMemAdvise_v2, (CUdeviceptr address, std::size_t size, CUmem_advise, CUmemLocation location)) {
  return call(EntryPoint::cuMemAdvise_v2, [&] {
    location_number(location);
    managed_at(address, size);
  });
}

SWD_API(cuMemRangeGetAttribute, (void* data, std::size_t data_size, CUmem_range_attribute which,
                                 CUdeviceptr address, std::size_t size)) {
  return call(EntryPoint::cuMemRangeGetAttribute, [&] {
    require(data && data_size == sizeof(int));
    require(which == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, CUDA_ERROR_NOT_SUPPORTED);
    const int to = managed_at(address, size)->prefetched_to;
    put<int>(data, to == -2 ? CU_DEVICE_INVALID : to < 0 ? CU_DEVICE_CPU : to);
  });
}
