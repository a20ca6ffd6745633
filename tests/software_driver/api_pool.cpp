#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/memory_operations.hpp"

#include <algorithm>
#include <utility>

namespace tferry::software_driver {
namespace {

/// Memory of one pool allocation, counted in its pool while it lives.
struct PoolMemory {
  PoolMemory(std::shared_ptr<MemoryPool> owner, std::shared_ptr<DeviceHeap::Range> memory)
      : pool(std::move(owner)), range(std::move(memory)) {
    const std::uint64_t now = pool->used.fetch_add(range->size) + range->size;
    std::uint64_t high = pool->used_high.load();
    while (high < now && !pool->used_high.compare_exchange_weak(high, now)) {
    }
  }
  ~PoolMemory() { pool->used.fetch_sub(range->size); }
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  std::shared_ptr<MemoryPool> pool;
  std::shared_ptr<DeviceHeap::Range> range;
};

CUdeviceptr allocate(std::size_t size, CUmemoryPool handle, CUstream stream_handle) {
  require(size > 0);
  const auto stream = stream_of(stream_handle);
  const auto pool = driver().pools.get(handle);
  auto memory = std::make_shared<PoolMemory>(pool, heap_range(driver().device(pool->device), size));
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = Allocation::Kind::kPool;
  allocation->base = memory->range->base;
  allocation->size = size;
  allocation->device = pool->device;
  allocation->context = stream->context()->handle;
  allocation->pool = handle;
  allocation->storage = std::move(memory);
  const CUdeviceptr base = allocation->base;
  driver().allocations.insert(allocation);
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  try {
    const bool captured = captures().with(*stream, [&](Capture& capture, auto&) {
      allocation->graph_owned = true;
      capture.graph->memory->bases.push_back(base);
    });
    if (captured) {
      captures().record(*stream, work);
    } else {
      stream->context()->submit(*stream, std::move(work));
    }
  } catch (const DriverError&) {
    if (!allocation->graph_owned) driver().allocations.remove(base);
    throw;
  }
  return base;
}

CUdeviceptr allocate_from_current_pool(std::size_t size, CUstream stream) {
  return allocate(size, stream_of(stream)->context()->device().current_pool, stream);
}

void free_in_order(CUdeviceptr base, CUstream stream_handle) {
  const auto stream = stream_of(stream_handle);
  auto allocation = driver().allocations.find(base);
  require(allocation && allocation->base == base);
  using Kind = Allocation::Kind;
  require(allocation->kind == Kind::kPool || allocation->kind == Kind::kDevice);
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_MEM_FREE;
  if (captures().of(*stream) || allocation->graph_owned) {
    // Memory of a graph lives as long as the graph, which may be launched again.
    stream->context()->submit(*stream, std::move(work));
    return;
  }
  require(driver().allocations.remove(base) == allocation);
  const auto pool = allocation->pool ? driver().pools.find(allocation->pool) : nullptr;
  if (pool) ++pool->frees_pending;
  work.guarded = false;
  work.after_errors = true;
  work.run = [pool, held = std::move(allocation)]() mutable {
    held.reset();
    if (pool) --pool->frees_pending;
  };
  stream->context()->submit(*stream, std::move(work));
}

void set_attribute(MemoryPool& pool, CUmemPool_attribute which, const void* value) {
  switch (which) {
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      require(*static_cast<const cuuint64_t*>(value) == 0);
      pool.used_high = pool.used.load();
      return;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      require(*static_cast<const cuuint64_t*>(value) == 0);
      return;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      throw DriverError(CUDA_ERROR_INVALID_VALUE);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: {
      const std::lock_guard lock(pool.mutex);
      pool.attributes[which] = *static_cast<const cuuint64_t*>(value);
      return;
    }
    default: {
      const std::lock_guard lock(pool.mutex);
      pool.attributes[which] = static_cast<std::uint64_t>(*static_cast<const int*>(value));
    }
  }
}

void get_attribute(MemoryPool& pool, CUmemPool_attribute which, void* value) {
  switch (which) {
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *static_cast<cuuint64_t*>(value) = pool.used;
      return;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *static_cast<cuuint64_t*>(value) = pool.used_high;
      return;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: {
      const std::lock_guard lock(pool.mutex);
      *static_cast<cuuint64_t*>(value) = pool.attributes[which];
      return;
    }
    default: {
      const std::lock_guard lock(pool.mutex);
      const auto at = pool.attributes.find(which);
      *static_cast<int*>(value) = at == pool.attributes.end() ? 1 : static_cast<int>(at->second);
    }
  }
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_STREAM_API(cuMemAllocAsync, (CUdeviceptr * out, std::size_t size, CUstream stream),
               checked(out) = allocate_from_current_pool(size, stream))
SWD_STREAM_API(cuMemAllocFromPoolAsync,
               (CUdeviceptr * out, std::size_t size, CUmemoryPool pool, CUstream stream),
               checked(out) = allocate(size, pool, stream))
SWD_STREAM_API(cuMemFreeAsync, (CUdeviceptr base, CUstream stream), free_in_order(base, stream))

SWD_API(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps* props)) {
  return call(EntryPoint::cuMemPoolCreate, [&] {
    require(checked(props).location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    auto pool = std::make_shared<MemoryPool>();
    pool->device = driver().device(props->location.id).ordinal;
    checked(out) = driver().pools.insert(std::move(pool));
  });
}

SWD_API(cuMemPoolDestroy, (CUmemoryPool handle)) {
  return call(EntryPoint::cuMemPoolDestroy, [&] {
    for (const auto& device : driver().devices) {
      require(device->default_pool_handle != handle);
      CUmemoryPool current = handle;
      device->current_pool.compare_exchange_strong(current, device->default_pool_handle);
    }
    driver().pools.remove(handle);
  });
}

SWD_API(cuMemPoolTrimTo, (CUmemoryPool handle, std::size_t)) {
  return call(EntryPoint::cuMemPoolTrimTo, [&] { driver().pools.get(handle); });
}

SWD_API(cuMemPoolSetAttribute, (CUmemoryPool handle, CUmemPool_attribute which, void* value)) {
  return call(EntryPoint::cuMemPoolSetAttribute, [&] {
    require(value != nullptr);
    set_attribute(*driver().pools.get(handle), which, value);
  });
}

SWD_API(cuMemPoolGetAttribute, (CUmemoryPool handle, CUmemPool_attribute which, void* value)) {
  return call(EntryPoint::cuMemPoolGetAttribute, [&] {
    require(value != nullptr);
    get_attribute(*driver().pools.get(handle), which, value);
  });
}

SWD_API(cuMemPoolSetAccess, (CUmemoryPool handle, const CUmemAccessDesc* desc, std::size_t count)) {
  return call(EntryPoint::cuMemPoolSetAccess, [&] {
    driver().pools.get(handle);
    require(count == 0 || desc);
  });
}

SWD_API(cuMemPoolGetAccess, (CUmemAccess_flags * flags, CUmemoryPool handle, CUmemLocation* location)) {
  return call(EntryPoint::cuMemPoolGetAccess, [&] {
    driver().pools.get(handle);
    checked(location);
    checked(flags) = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  });
}
