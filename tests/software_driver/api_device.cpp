#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tferry::software_driver {
namespace {

int attribute(CUdevice_attribute which, int ordinal) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1000000;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 4;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 2;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
      return 0;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return ordinal + 1;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
      return 0;
    default:
      return 0;
  }
}

void bus_id(char (&text)[16], int ordinal) {
  std::snprintf(text, sizeof text, "0000:%02X:00.0", static_cast<unsigned>(ordinal + 1) & 0xffU);
}

void uuid(CUuuid* id, CUdevice ordinal) {
  driver().device(ordinal);
  std::memset(&checked(id), 0, sizeof *id);
  std::memcpy(id->bytes, "tferry-swd", 10);
  id->bytes[15] = static_cast<char>(ordinal);
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuDeviceGet, (CUdevice * device, int ordinal)) {
  return call(EntryPoint::cuDeviceGet, [&] { checked(device) = driver().device(ordinal).ordinal; });
}

SWD_API(cuDeviceGetCount, (int* count)) {
  return call(EntryPoint::cuDeviceGetCount,
              [&] { checked(count) = static_cast<int>(driver().devices.size()); });
}

SWD_API(cuDeviceGetName, (char* name, int length, CUdevice device)) {
  return call(EntryPoint::cuDeviceGetName, [&] {
    driver().device(device);
    require(length > 0);
    std::snprintf(&checked(name), static_cast<std::size_t>(length), "Tensorferry software device");
  });
}

SWD_API(cuDeviceGetUuid, (CUuuid * id, CUdevice device)) {
  return call(EntryPoint::cuDeviceGetUuid, [&] { uuid(id, device); });
}

SWD_API(cuDeviceGetUuid_v2, (CUuuid * id, CUdevice device)) {
  return call(EntryPoint::cuDeviceGetUuid_v2, [&] { uuid(id, device); });
}

SWD_API(cuDeviceTotalMem_v2, (std::size_t* bytes, CUdevice device)) {
  return call(EntryPoint::cuDeviceTotalMem_v2,
              [&] { checked(bytes) = driver().device(device).memory.capacity(); });
}

SWD_API(cuDeviceGetAttribute, (int* value, CUdevice_attribute which, CUdevice device)) {
  return call(EntryPoint::cuDeviceGetAttribute, [&] {
    require(which > 0 && which < CU_DEVICE_ATTRIBUTE_MAX);
    checked(value) = attribute(which, driver().device(device).ordinal);
  });
}

SWD_API(cuDeviceGetPCIBusId, (char* id, int length, CUdevice device)) {
  return call(EntryPoint::cuDeviceGetPCIBusId, [&] {
    char text[16];
    bus_id(text, driver().device(device).ordinal);
    require(length > static_cast<int>(std::strlen(text)));
    std::strcpy(&checked(id), text);
  });
}

SWD_API(cuDeviceGetByPCIBusId, (CUdevice * device, const char* id)) {
  return call(EntryPoint::cuDeviceGetByPCIBusId, [&] {
    for (const auto& candidate : driver().devices) {
      char text[16];
      bus_id(text, candidate->ordinal);
      if (std::strcmp(text, &checked(id)) != 0) continue;
      checked(device) = candidate->ordinal;
      return;
    }
    throw DriverError(CUDA_ERROR_INVALID_DEVICE);
  });
}

SWD_API(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer)) {
  return call(EntryPoint::cuDeviceCanAccessPeer,
              [&] { checked(can) = &driver().device(device) != &driver().device(peer); });
}

SWD_API(cuDeviceGetP2PAttribute, (int* value, CUdevice_P2PAttribute which, CUdevice from, CUdevice to)) {
  return call(EntryPoint::cuDeviceGetP2PAttribute, [&] {
    require(&driver().device(from) != &driver().device(to), CUDA_ERROR_INVALID_DEVICE);
    checked(value) = which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
  });
}

SWD_API(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device)) {
  return call(EntryPoint::cuDeviceGetDefaultMemPool,
              [&] { checked(pool) = driver().device(device).default_pool_handle; });
}

SWD_API(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device)) {
  return call(EntryPoint::cuDeviceGetMemPool, [&] { checked(pool) = driver().device(device).current_pool; });
}

SWD_API(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool)) {
  return call(EntryPoint::cuDeviceSetMemPool, [&] {
    require(driver().pools.get(pool)->device == driver().device(device).ordinal);
    driver().device(device).current_pool = pool;
  });
}
