#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/memory_operations.hpp"
#include "tests/software_driver/pages.hpp"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <utility>

namespace tferry::software_driver {
namespace {

constexpr std::size_t kPage = 4096;

std::shared_ptr<Allocation> make_allocation(Allocation::Kind kind, std::size_t size) {
  const auto context = current_context();
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = kind;
  allocation->size = size;
  allocation->device = context->device().ordinal;
  allocation->context = context->handle;
  return allocation;
}

CUdeviceptr allocate_device(std::size_t size, Allocation::Kind kind) {
  require(size > 0);
  auto allocation = make_allocation(kind, size);
  auto range = heap_range(current_context()->device(), size);
  allocation->base = range->base;
  allocation->storage = std::move(range);
  const CUdeviceptr base = allocation->base;
  driver().allocations.insert(std::move(allocation));
  return base;
}

void free_device(CUdeviceptr base) {
  if (base == 0) return;
  const auto allocation = driver().allocations.find(base);
  require(allocation && allocation->base == base);
  using Kind = Allocation::Kind;
  require(allocation->kind != Kind::kHost && allocation->kind != Kind::kRegistered);
  // The driver waits for the device; without that, queued work would use memory that is gone.
  driver().synchronize_device(driver().device(allocation->device));
  require(driver().allocations.remove(base) == allocation);
}

void* allocate_host(std::size_t size, unsigned flags) {
  require(size > 0);
  auto allocation = make_allocation(Allocation::Kind::kHost, size);
  // From the C library, so that the address sanitizer watches its ends.
  void* memory = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
  require(memory != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  allocation->storage = std::shared_ptr<void>(memory, std::free);
  allocation->base = reinterpret_cast<Address>(memory);
  allocation->flags = flags;
  driver().allocations.insert(std::move(allocation));
  return memory;
}

/// Takes out a host allocation of that kind, when no work can use it any more.
void end_host(void* memory, Allocation::Kind kind, CUresult otherwise) {
  const auto base = reinterpret_cast<Address>(memory);
  const auto allocation = driver().allocations.find(base);
  require(allocation && allocation->base == base && allocation->kind == kind, otherwise);
  for (const auto& device : driver().devices) driver().synchronize_device(*device);
  require(driver().allocations.remove(base) == allocation, otherwise);
}

std::shared_ptr<Allocation> host_allocation(void* memory) {
  const auto allocation = driver().allocations.find(reinterpret_cast<Address>(memory));
  require(allocation &&
          (allocation->kind == Allocation::Kind::kHost || allocation->kind == Allocation::Kind::kRegistered));
  return allocation;
}

}  // namespace

std::shared_ptr<DeviceHeap::Range> heap_range(Device& device, std::size_t size) {
  const auto frees_are_pending = [&] {
    const auto freeing = [&](const MemoryPool& pool) {
      return pool.device == device.ordinal && pool.frees_pending.load() > 0;
    };
    return !driver().pools.select(freeing).empty();
  };
  // Asked before the first try, because a free may end between a try that fails and the question.
  const bool pending = frees_are_pending();
  try {
    return std::make_shared<DeviceHeap::Range>(device.heap, size);
  } catch (const DriverError&) {
    if (!pending && !frees_are_pending()) throw;
  }
  driver().synchronize_device(device);
  return std::make_shared<DeviceHeap::Range>(device.heap, size);
}

}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuMemGetInfo_v2, (std::size_t* free, std::size_t* total)) {
  return call(EntryPoint::cuMemGetInfo_v2, [&] {
    const PhysicalMemory& memory = current_context()->device().memory;
    const std::size_t capacity = memory.capacity();
    checked(free) = capacity - std::min(capacity, memory.used());
    checked(total) = capacity;
  });
}

SWD_API(cuMemAlloc_v2, (CUdeviceptr * out, std::size_t size)) {
  return call(EntryPoint::cuMemAlloc_v2,
              [&] { checked(out) = allocate_device(size, Allocation::Kind::kDevice); });
}

SWD_API(cuMemAllocPitch_v2,
        (CUdeviceptr * out, std::size_t* pitch, std::size_t width, std::size_t height, unsigned element)) {
  return call(EntryPoint::cuMemAllocPitch_v2, [&] {
    require(element == 4 || element == 8 || element == 16);
    require(width > 0 && height > 0 && width <= driver().config.device_memory);
    const std::size_t row = (width + 511) / 512 * 512;
    require(height <= ~std::size_t{0} / row);
    CUdeviceptr& base = checked(out);
    std::size_t& row_out = checked(pitch);
    base = allocate_device(row * height, Allocation::Kind::kDevice);
    row_out = row;
  });
}

SWD_API(cuMemFree_v2, (CUdeviceptr base)) {
  return call(EntryPoint::cuMemFree_v2, [&] { free_device(base); });
}

SWD_API(cuMemAllocManaged, (CUdeviceptr * out, std::size_t size, unsigned flags)) {
  return call(EntryPoint::cuMemAllocManaged, [&] {
    require(size > 0 && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
    CUdeviceptr& base = checked(out);
    auto allocation = make_allocation(Allocation::Kind::kManaged, size);
    const std::size_t whole = (size + kPage - 1) / kPage * kPage;
    void* memory =
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    allocation->storage = std::shared_ptr<void>(memory, [whole](void* ended) {
      pages_end(reinterpret_cast<Address>(ended));
      munmap(ended, whole);
    });
    pages_begin(reinterpret_cast<Address>(memory), size, allocation->device);
    allocation->base = reinterpret_cast<Address>(memory);
    base = allocation->base;
    driver().allocations.insert(std::move(allocation));
  });
}

SWD_API(cuMemGetAddressRange_v2, (CUdeviceptr * base, std::size_t* size, CUdeviceptr address)) {
  return call(EntryPoint::cuMemGetAddressRange_v2, [&] {
    if (const auto allocation = driver().allocations.find(address)) {
      if (base) *base = allocation->base;
      if (size) *size = allocation->size;
      return;
    }
    const auto mapping = driver().addresses.mapping_at(address);
    require(mapping.has_value(), CUDA_ERROR_NOT_FOUND);
    if (base) *base = mapping->base;
    if (size) *size = mapping->chunk->size;
  });
}

SWD_API(cuMemAllocHost_v2, (void** out, std::size_t size)) {
  return call(EntryPoint::cuMemAllocHost_v2, [&] { checked(out) = allocate_host(size, 0); });
}

SWD_API(cuMemHostAlloc, (void** out, std::size_t size, unsigned flags)) {
  return call(EntryPoint::cuMemHostAlloc, [&] { checked(out) = allocate_host(size, flags); });
}

SWD_API(cuMemFreeHost, (void* memory)) {
  return call(EntryPoint::cuMemFreeHost, [&] {
    if (memory) end_host(memory, Allocation::Kind::kHost, CUDA_ERROR_INVALID_VALUE);
  });
}

SWD_API(cuMemHostRegister_v2, (void* memory, std::size_t size, unsigned flags)) {
  return call(EntryPoint::cuMemHostRegister_v2, [&] {
    require(size > 0);
    auto allocation = make_allocation(Allocation::Kind::kRegistered, size);
    allocation->base = reinterpret_cast<Address>(&checked(static_cast<char*>(memory)));
    allocation->flags = flags;
    driver().allocations.insert(std::move(allocation));
  });
}

SWD_API(cuMemHostUnregister, (void* memory)) {
  return call(EntryPoint::cuMemHostUnregister, [&] {
    end_host(memory, Allocation::Kind::kRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

SWD_API(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void* memory, unsigned flags)) {
  return call(EntryPoint::cuMemHostGetDevicePointer_v2, [&] {
    require(flags == 0);
    host_allocation(memory);
    checked(out) = reinterpret_cast<CUdeviceptr>(memory);
  });
}

SWD_API(cuMemHostGetFlags, (unsigned* flags, void* memory)) {
  return call(EntryPoint::cuMemHostGetFlags, [&] { checked(flags) = host_allocation(memory)->flags; });
}
