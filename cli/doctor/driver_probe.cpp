#include "cli/doctor/driver_probe.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <dlfcn.h>

namespace tferry::cli {
namespace {

// The driver's and NVML's C interfaces, as far as used; this folder builds without CUDA headers.
using CuInit = int (*)(unsigned);
using CuDriverGetVersion = int (*)(int*);
using CuDeviceGetCount = int (*)(int*);
using CuDeviceGet = int (*)(int*, int);
using CuDeviceGetName = int (*)(char*, int, int);
using CuDeviceTotalMem = int (*)(std::size_t*, int);
using CuDeviceGetPciBusId = int (*)(char*, int, int);
using CuGetErrorString = int (*)(int, const char**);

using NvmlInit = int (*)();
using NvmlSystemGetDriverVersion = int (*)(char*, unsigned);
using NvmlDeviceGetHandleByPciBusId = int (*)(const char*, void**);
struct NvmlMemory {
  unsigned long long total, free, used;
};
using NvmlDeviceGetMemoryInfo = int (*)(void*, NvmlMemory*);

constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

template <typename Function>
Function symbol(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
}

std::string file_of(void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

/// NVML's view, if it can be had at all.
class Nvml {
 public:
  Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    const auto init = symbol<NvmlInit>(library_, "nvmlInit_v2");
    ready_ = init != nullptr && init() == 0;
  }
  std::string driver_version() const {
    const auto get = symbol<NvmlSystemGetDriverVersion>(library_, "nvmlSystemGetDriverVersion");
    std::array<char, 96> text{};
    return ready_ && get != nullptr && get(text.data(), text.size()) == 0 ? text.data() : "";
  }
  std::optional<std::int64_t> free_bytes(const char* bus_id) const {
    const auto handle_of =
        symbol<NvmlDeviceGetHandleByPciBusId>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
    const auto memory_of = symbol<NvmlDeviceGetMemoryInfo>(library_, "nvmlDeviceGetMemoryInfo");
    void* handle = nullptr;
    NvmlMemory memory{};
    if (!ready_ || handle_of == nullptr || memory_of == nullptr || handle_of(bus_id, &handle) != 0 ||
        memory_of(handle, &memory) != 0) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(memory.free);
  }

 private:
  void* library_;
  bool ready_ = false;
};

std::string error_text(void* driver, int code) {
  const auto get = symbol<CuGetErrorString>(driver, "cuGetErrorString");
  const char* text = nullptr;
  if (get != nullptr && get(code, &text) == 0 && text != nullptr) return fmt::format("{} ({})", text, code);
  return fmt::format("error {}", code);
}

GpuInfo gpu_info(void* driver, int index, const Nvml& nvml) {
  const auto get = symbol<CuDeviceGet>(driver, "cuDeviceGet");
  const auto get_name = symbol<CuDeviceGetName>(driver, "cuDeviceGetName");
  const auto get_total = symbol<CuDeviceTotalMem>(driver, "cuDeviceTotalMem_v2");
  const auto get_bus_id = symbol<CuDeviceGetPciBusId>(driver, "cuDeviceGetPCIBusId");
  GpuInfo gpu;
  int device = 0;
  if (get == nullptr || get(&device, index) != 0) return gpu;
  std::array<char, 256> text{};
  if (get_name != nullptr && get_name(text.data(), static_cast<int>(text.size()), device) == 0)
    gpu.name = text.data();
  std::size_t total = 0;
  if (get_total != nullptr && get_total(&total, device) == 0)
    gpu.total_bytes = static_cast<std::int64_t>(total);
  std::array<char, 64> bus_id{};
  if (get_bus_id != nullptr && get_bus_id(bus_id.data(), static_cast<int>(bus_id.size()), device) == 0) {
    gpu.free_bytes = nvml.free_bytes(bus_id.data());
  }
  return gpu;
}

template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

DriverInfo probe_driver() {
  DriverInfo info;
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    info.error = fmt::format("no CUDA driver: {}", ::dlerror());
    info.error_fix =
        "install the NVIDIA driver (nvidia-smi tells whether it works), or start the container with GPUs";
    return info;
  }
  const auto init = symbol<CuInit>(driver, "cuInit");
  const auto version = symbol<CuDriverGetVersion>(driver, "cuDriverGetVersion");
  const auto count_devices = symbol<CuDeviceGetCount>(driver, "cuDeviceGetCount");
  if (init == nullptr || version == nullptr || count_devices == nullptr) {
    info.error = "libcuda.so.1 lacks the functions of a CUDA driver";
    info.error_fix = "find out what library that is (ldconfig -p), and take it off LD_LIBRARY_PATH";
    return info;
  }
  info.path = file_of(reinterpret_cast<void*>(init));
  version(&info.cuda_version);
  int count = 0;
  int error = init(0);
  if (error == 0) error = count_devices(&count);
  if (error != 0) {
    info.error = fmt::format("the driver does not start: {}", error_text(driver, error));
    info.error_fix = error == kNoDevice
                         ? "check that a GPU is there (nvidia-smi) and CUDA_VISIBLE_DEVICES names it"
                         : "run nvidia-smi; after an update of the driver, restart the machine";
    return info;
  }
  const Nvml nvml;
  info.driver_version = nvml.driver_version();
  for (int index = 0; index < count; ++index) info.gpus.push_back(gpu_info(driver, index, nvml));
  return info;
}

std::string driver_info_to_json(const DriverInfo& info) {
  nlohmann::json json = {{"error", info.error},
                         {"error_fix", info.error_fix},
                         {"path", info.path},
                         {"cuda_version", info.cuda_version},
                         {"driver_version", info.driver_version},
                         {"gpus", nlohmann::json::array()}};
  for (const GpuInfo& gpu : info.gpus) {
    json["gpus"].push_back(
        {{"name", gpu.name}, {"total", or_null(gpu.total_bytes)}, {"free", or_null(gpu.free_bytes)}});
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

DriverInfo driver_info_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  DriverInfo info;
  json.at("error").get_to(info.error);
  json.at("error_fix").get_to(info.error_fix);
  json.at("path").get_to(info.path);
  json.at("cuda_version").get_to(info.cuda_version);
  json.at("driver_version").get_to(info.driver_version);
  const auto optional = [](const nlohmann::json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
  };
  for (const auto& gpu : json.at("gpus")) {
    info.gpus.push_back(
        {gpu.at("name").get<std::string>(), optional(gpu.at("total")), optional(gpu.at("free"))});
  }
  return info;
}

}  // namespace tferry::cli
