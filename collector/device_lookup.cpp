#include "collector/device_lookup.hpp"

#include "trace/job_environment.hpp"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>

namespace tferry::collector {
namespace {

struct Calls {
  decltype(&::cuDriverGetVersion) version = nullptr;
  decltype(&::cuDeviceGetCount) count = nullptr;
  decltype(&::cuDeviceGetAttribute) attribute = nullptr;
  decltype(&::cuDeviceGetUuid_v2) uuid = nullptr;
};

template <typename Function>
void resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Calls loaded_driver() {
  Calls calls;
  const char* name = std::getenv(trace::environment::kDriverPath);
  void* library = dlopen(name != nullptr && *name != '\0' ? name : "libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return calls;
  resolve(library, "cuDriverGetVersion", calls.version);
  resolve(library, "cuDeviceGetCount", calls.count);
  resolve(library, "cuDeviceGetAttribute", calls.attribute);
  resolve(library, "cuDeviceGetUuid_v2", calls.uuid);
  return calls;
}

int pcie_generation(double gigatransfers) {
  constexpr double kRates[] = {2.5, 5, 8, 16, 32, 64, 128};
  int generation = 0;
  for (const double rate : kRates) {
    if (gigatransfers >= rate) ++generation;
  }
  return generation;
}

template <typename Number>
bool read_number(const std::string& path, Number& number) {
  std::ifstream in(path);
  return static_cast<bool>(in >> number);
}

}  // namespace

int DriverDeviceLookup::driver_version() noexcept {
  int version = 0;
  const Calls driver = loaded_driver();
  if (driver.version == nullptr || driver.version(&version) != CUDA_SUCCESS) return 0;
  return version;
}

bool DriverDeviceLookup::complete(trace::DeviceRecord& record) noexcept {
  const Calls driver = loaded_driver();
  int count = 0;
  if (driver.count == nullptr || driver.uuid == nullptr || driver.attribute == nullptr) return false;
  if (driver.count(&count) != CUDA_SUCCESS) return false;
  for (CUdevice device = 0; device < count; ++device) {
    CUuuid uuid{};
    if (driver.uuid(&uuid, device) != CUDA_SUCCESS) continue;
    if (std::memcmp(uuid.bytes, record.uuid, sizeof record.uuid) != 0) continue;
    record.device = device;
    driver.attribute(&record.pci_domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device);
    driver.attribute(&record.pci_bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    driver.attribute(&record.pci_device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
    read_sysfs(sysfs_root_, record);
    return true;
  }
  return false;
}

void read_sysfs(const std::string& sysfs_root, trace::DeviceRecord& record) {
  char address[40];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.0", static_cast<unsigned>(record.pci_domain),
                static_cast<unsigned>(record.pci_bus), static_cast<unsigned>(record.pci_device));
  const std::string directory = sysfs_root + "/bus/pci/devices/" + address + "/";
  double gigatransfers = 0;  // "32.0 GT/s PCIe"
  if (read_number(directory + "current_link_speed", gigatransfers)) {
    record.pcie_generation = pcie_generation(gigatransfers);
  }
  int width = 0;
  if (read_number(directory + "current_link_width", width) && width > 0 && width <= 32) {
    record.pcie_width = width;
  }
  int node = -1;
  if (read_number(directory + "numa_node", node)) record.numa_node = node;
}

}  // namespace tferry::collector
