#include "collector/sampler/nvml_library.hpp"

#include <dlfcn.h>

namespace tferry::collector {
namespace {

constexpr unsigned kSent = 0, kReceived = 1;  // NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES
// NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX: KiB of user data
constexpr unsigned kNvlinkSent = 138, kNvlinkReceived = 139;
constexpr unsigned kAllLinks = ~0U;

/// nvmlFieldValue_t, as nvml.h has it since CUDA 11.
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp_us = 0;
  long long latency_us = 0;
  int type = 0;
  int result = 0;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long as_long;
    unsigned long long as_long_long = 0;
  };
};
static_assert(sizeof(FieldValue) == 40);

/// -1: neither an unsigned number nor one that may be one.
std::int64_t number_in(const FieldValue& value) {
  switch (value.type) {
    case 1:  // NVML_VALUE_TYPE_UNSIGNED_INT
      return value.as_unsigned;
    case 2:  // NVML_VALUE_TYPE_UNSIGNED_LONG
      return static_cast<std::int64_t>(value.as_long);
    case 3:  // NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
    case 4:  // NVML_VALUE_TYPE_SIGNED_LONG_LONG
      return static_cast<std::int64_t>(value.as_long_long);
    default:
      return -1;
  }
}

}  // namespace

struct NvmlLibrary::Calls {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*uuid)(void*, char*, unsigned) = nullptr;
  int (*throughput)(void*, unsigned, unsigned*) = nullptr;
  int (*field_values)(void*, int, FieldValue*) = nullptr;  ///< null in old libraries
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
  resolve("nvmlDeviceGetFieldValues", calls->field_values);
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

Nvml::NvlinkTotals NvmlLibrary::nvlink_totals(const Device& device) {
  NvlinkTotals totals;
  if (calls_->field_values == nullptr) {
    totals.error = "libnvidia-ml.so.1 lacks nvmlDeviceGetFieldValues: it may be too old";
    return totals;
  }
  FieldValue values[2] = {};
  values[0].field = kNvlinkReceived;
  values[1].field = kNvlinkSent;
  for (FieldValue& value : values) value.scope = kAllLinks;
  int result = calls_->field_values(device.handle, 2, values);
  for (const FieldValue& value : values) {
    if (result == 0) result = value.result;
  }
  if (result != 0) {
    totals.error = std::string("NVML answered for its NVLink counters: ") + calls_->error_string(result);
    return totals;
  }
  const std::int64_t received = number_in(values[0]), sent = number_in(values[1]);
  if (received < 0 || sent < 0) {
    totals.error = "NVML gave its NVLink counters as a type that is no number of KiB";
    return totals;
  }
  totals.received_bytes = received * 1024;
  totals.sent_bytes = sent * 1024;
  return totals;
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
