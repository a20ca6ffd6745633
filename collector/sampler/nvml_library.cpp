#include "collector/sampler/nvml_library.hpp"

#include <dlfcn.h>

namespace tferry::collector {
namespace {

constexpr unsigned kSent = 0, kReceived = 1;  // NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES

}  // namespace

struct NvmlLibrary::Calls {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*uuid)(void*, char*, unsigned) = nullptr;
  int (*throughput)(void*, unsigned, unsigned*) = nullptr;
};

std::unique_ptr<NvmlLibrary> NvmlLibrary::open(std::string& error) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    error = "libnvidia-ml.so.1 is not there: it comes with the NVIDIA driver";
    return nullptr;
  }
  auto calls = std::make_unique<Calls>();
  const auto resolve = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  const bool complete =
      resolve("nvmlInit_v2", calls->init) && resolve("nvmlShutdown", calls->shutdown) &&
      resolve("nvmlErrorString", calls->error_string) && resolve("nvmlDeviceGetCount_v2", calls->count) &&
      resolve("nvmlDeviceGetHandleByIndex_v2", calls->handle) && resolve("nvmlDeviceGetUUID", calls->uuid) &&
      resolve("nvmlDeviceGetPcieThroughput", calls->throughput);
  if (!complete) {
    error = "libnvidia-ml.so.1 lacks calls that this program needs: it may be too old";
    return nullptr;
  }
  if (const int result = calls->init(); result != 0) {
    error = std::string("nvmlInit answered: ") + calls->error_string(result);
    return nullptr;
  }
  std::unique_ptr<NvmlLibrary> nvml(new NvmlLibrary);
  nvml->calls_ = std::move(calls);
  return nvml;
}

NvmlLibrary::~NvmlLibrary() {
  if (calls_) calls_->shutdown();
}

std::vector<NvmlLibrary::Device> NvmlLibrary::devices() {
  std::vector<Device> devices;
  unsigned count = 0;
  if (calls_->count(&count) != 0) return devices;
  for (unsigned i = 0; i < count; ++i) {
    Device device;
    char uuid[96] = {};
    if (calls_->handle(i, &device.handle) != 0) continue;
    if (calls_->uuid(device.handle, uuid, sizeof uuid - 1) != 0) continue;
    device.uuid = uuid;
    devices.push_back(device);
  }
  return devices;
}

std::int64_t NvmlLibrary::received_kb_per_s(const Device& device) {
  unsigned value = 0;
  return calls_->throughput(device.handle, kReceived, &value) == 0 ? std::int64_t{value} : -1;
}

std::int64_t NvmlLibrary::sent_kb_per_s(const Device& device) {
  unsigned value = 0;
  return calls_->throughput(device.handle, kSent, &value) == 0 ? std::int64_t{value} : -1;
}

}  // namespace tferry::collector
