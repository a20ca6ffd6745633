#include "collector/sampler/gpu_list.hpp"

#include "collector/device_lookup.hpp"
#include "trace/job_environment.hpp"
#include "trace/spool_writer.hpp"

#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace tferry::collector {
namespace {

struct Calls {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuGetErrorName) error_name = nullptr;
  decltype(&::cuDeviceGetCount) count = nullptr;
  decltype(&::cuDeviceGetName) name = nullptr;
  decltype(&::cuDeviceGetUuid_v2) uuid = nullptr;
  decltype(&::cuDeviceTotalMem_v2) memory = nullptr;
  decltype(&::cuDeviceGetAttribute) attribute = nullptr;
};

template <typename Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool resolve_all(void* library, Calls& calls) {
  return resolve(library, "cuInit", calls.init) && resolve(library, "cuGetErrorName", calls.error_name) &&
         resolve(library, "cuDeviceGetCount", calls.count) &&
         resolve(library, "cuDeviceGetName", calls.name) &&
         resolve(library, "cuDeviceGetUuid_v2", calls.uuid) &&
         resolve(library, "cuDeviceTotalMem_v2", calls.memory) &&
         resolve(library, "cuDeviceGetAttribute", calls.attribute);
}

}  // namespace

GpuList GpuList::from_driver(const std::string& sysfs_root) {
  GpuList list;
  const char* path = std::getenv(trace::environment::kDriverPath);
  const std::string file = path != nullptr && *path != '\0' ? path : "libcuda.so.1";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    list.error = "there is no CUDA driver: " + file + " was not found";
    return list;
  }
  Calls driver;
  if (!resolve_all(library, driver)) {
    list.error = file + " lacks calls that this program needs: the driver may be too old";
    return list;
  }
  const auto failed = [&](const char* call, CUresult result) {
    if (result == CUDA_SUCCESS) return false;
    const char* name = nullptr;
    driver.error_name(result, &name);
    list.error = std::string(call) + " answered " + (name != nullptr ? name : std::to_string(result));
    return true;
  };
  int count = 0;
  if (failed("cuInit", driver.init(0)) || failed("cuDeviceGetCount", driver.count(&count))) return list;
  for (CUdevice device = 0; device < count; ++device) {
    trace::DeviceRecord record;
    record.time_ns = trace::SpoolWriter::now_ns();
    record.device = device;
    CUuuid uuid{};
    std::size_t memory = 0;
    char name[256] = {};
    driver.uuid(&uuid, device);
    driver.memory(&memory, device);
    driver.name(name, sizeof name - 1, device);
    static_assert(sizeof uuid.bytes == sizeof record.uuid);
    std::memcpy(record.uuid, uuid.bytes, sizeof record.uuid);
    record.memory_bytes = static_cast<std::int64_t>(memory);
    driver.attribute(&record.pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device);
    driver.attribute(&record.pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    driver.attribute(&record.pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
    driver.attribute(&record.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    driver.attribute(&record.compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.attribute(&record.compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    driver.attribute(&record.copy_engines, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, device);
    read_sysfs(sysfs_root, record);
    list.devices.push_back(record);
    list.names.emplace_back(name);
  }
  if (count == 0) list.error = "the driver shows no GPU";
  return list;
}

}  // namespace tferry::collector
