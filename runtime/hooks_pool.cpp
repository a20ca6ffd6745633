// Pools of memory: the calls are passed on, and where the job is recorded, those that the driver accepted are
// noted. Allocations from pools are in hooks_memory.cpp.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"
#include "trace/spool_writer.hpp"

#include <algorithm>
#include <limits>

using namespace tferry::runtime;
using tferry::trace::PoolOperationKind;
using tferry::trace::PoolOperationRecord;
using tferry::trace::SpoolWriter;

namespace {

std::int64_t as_value(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

/// What an attribute is set to: bytes are 64 bits wide, switches are ints.
std::int64_t attribute_value(CUmemPool_attribute attribute, const void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return *static_cast<const int*>(value);
    default:
      return as_value(*static_cast<const cuuint64_t*>(value));
  }
}

int device_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : -1;
}

/// Passes a call on, and what it did.
template <class Pass, class Describe>
CUresult operate_pool(PoolOperationKind kind, Pass pass, Describe describe) {
  const ThreadOperation scope;
  PoolOperationRecord record;
  record.time_ns = SpoolWriter::now_ns();
  const CUresult result = pass();
  Runtime* runtime = result == CUDA_SUCCESS && scope.get() != nullptr ? Runtime::active() : nullptr;
  if (runtime == nullptr) return result;
  record.end_ns = SpoolWriter::now_ns();
  record.kind = kind;
  describe(record);
  runtime->with_other_memory([&](OtherMemory& other, int) { other.pool_operation(record); });
  return result;
}

std::uint64_t handle_of(CUmemoryPool pool) { return reinterpret_cast<std::uint64_t>(pool); }

}  // namespace

TFERRY_EXPORT CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return operate_pool(
      PoolOperationKind::kCreate, [&] { return call(real().cuMemPoolCreate, pool, properties); },
      [&](PoolOperationRecord& record) {
        record.pool = handle_of(*pool);
        record.device = device_of(properties->location);
        record.value = as_value(properties->maxSize);
      });
}

TFERRY_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return operate_pool(
      PoolOperationKind::kDestroy, [&] { return call(real().cuMemPoolDestroy, pool); },
      [&](PoolOperationRecord& record) { record.pool = handle_of(pool); });
}

TFERRY_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t bytes) {
  return operate_pool(
      PoolOperationKind::kTrim, [&] { return call(real().cuMemPoolTrimTo, pool, bytes); },
      [&](PoolOperationRecord& record) {
        record.pool = handle_of(pool);
        record.value = as_value(bytes);
      });
}

TFERRY_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return operate_pool(
      PoolOperationKind::kSetAttribute,
      [&] { return call(real().cuMemPoolSetAttribute, pool, attribute, value); },
      [&](PoolOperationRecord& record) {
        record.pool = handle_of(pool);
        record.attribute = static_cast<std::uint32_t>(attribute);
        record.value = attribute_value(attribute, value);
      });
}

TFERRY_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* accesses,
                                          std::size_t count) {
  return operate_pool(
      PoolOperationKind::kSetAccess, [&] { return call(real().cuMemPoolSetAccess, pool, accesses, count); },
      [&](PoolOperationRecord& record) { record.pool = handle_of(pool); });
}

TFERRY_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return operate_pool(
      PoolOperationKind::kSetCurrent, [&] { return call(real().cuDeviceSetMemPool, device, pool); },
      [&](PoolOperationRecord& record) {
        record.pool = handle_of(pool);
        record.device = device;
      });
}

namespace tferry::runtime {

std::span<const cuda::Hook> pool_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_HOOK(cuMemPoolCreate),       TFERRY_HOOK(cuMemPoolDestroy),   TFERRY_HOOK(cuMemPoolTrimTo),
      TFERRY_HOOK(cuMemPoolSetAttribute), TFERRY_HOOK(cuMemPoolSetAccess), TFERRY_HOOK(cuDeviceSetMemPool),
  };
  return hooks;
}

}  // namespace tferry::runtime
