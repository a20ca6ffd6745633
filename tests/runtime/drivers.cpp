#include "tests/runtime/drivers.hpp"

#include "trace/job_environment.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace tferry::runtime_test {
namespace {

namespace variables = trace::environment;

void* open_library(const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  return handle;
}

template <class Function>
void resolve(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
}

/// Where a name is looked for: among the hooks first.
struct Stack {
  void* hooks;
  void* driver;
};

void* find(void* stack_address, const char* name) {
  const Stack& stack = *static_cast<Stack*>(stack_address);
  void* hook = stack.hooks != nullptr ? dlsym(stack.hooks, name) : nullptr;
  return hook != nullptr ? hook : dlsym(stack.driver, name);
}

Api make_api(Stack stack) {
  Api api;
  static_cast<cuda::Driver&>(api) = cuda::Driver::from_library(&stack, find);
#define TFERRY_FIND(name) api.name = reinterpret_cast<decltype(api.name)>(find(&stack, #name))
  TFERRY_FIND(cuDeviceGet);
  TFERRY_FIND(cuDevicePrimaryCtxRetain);
  TFERRY_FIND(cuLaunchHostFunc);
  TFERRY_FIND(cuStreamWriteValue32_v2);
  TFERRY_FIND(cuStreamQuery);
  TFERRY_FIND(cuCtxCreate_v4);
  TFERRY_FIND(cuModuleGetGlobal_v2);
#undef TFERRY_FIND
  return api;
}

const trace::JobStatus* map_status(const std::string& directory) {
  const std::string path = directory + "/status." + std::to_string(getpid());
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("the runtime wrote no " + path);
  void* memory = mmap(nullptr, sizeof(trace::JobStatus), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap of " + path);
  return static_cast<const trace::JobStatus*>(memory);
}

}  // namespace

Drivers& Drivers::get() {
  static Drivers instance;
  return instance;
}

Drivers::Drivers() {
  directory_ = std::filesystem::temp_directory_path() / "tferry-runtime-XXXXXX";
  if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("mkdtemp " + directory_);
  const std::string chunk = std::to_string(kChunk);
  setenv("SWD_GRANULARITY", chunk.c_str(), 1);
  setenv("SWD_DEVICES", "2", 1);
  setenv(variables::kRunDirectory, directory_.c_str(), 1);
  setenv(variables::kBudget, "50%", 1);
  setenv(variables::kHostBudget, "67108864", 0);
  setenv(variables::kChunkSize, chunk.c_str(), 1);
  setenv(variables::kMovableSize, chunk.c_str(), 1);
  setenv(variables::kDriverPath, TFERRY_SOFTWARE_DRIVER, 1);
  setenv(variables::kLog, "0", 0);

  void* driver = open_library(TFERRY_SOFTWARE_DRIVER);
  void* hooks = open_library(TFERRY_RUNTIME_LIBRARY);
  native_ = make_api({nullptr, driver});
  ferried_ = make_api({hooks, driver});
  resolve(driver, "swd_register_kernel", register_kernel);
  resolve(driver, "swd_fail", fail);
  resolve(driver, "swd_clear_faults", clear_faults);
  resolve(driver, "swd_calls", calls);
  resolve(driver, "swd_clear_calls", clear_calls);
  resolve(driver, "swd_set_jitter", set_jitter);
  resolve(driver, "swd_set_poison", set_poison);
  resolve(driver, "swd_clear_peaks", clear_peaks);
  resolve(driver, "swd_set_device_memory", set_device_memory_);
  resolve(driver, "swd_statistics", statistics_);
  status_ = map_status(directory_);
  if (native_.cuInit(0) != CUDA_SUCCESS) throw std::runtime_error("cuInit of the software driver");
  set_poison(1);
}

Drivers::~Drivers() { std::filesystem::remove_all(directory_); }

std::string Drivers::live_plan_path() const { return directory_ + "/plan." + std::to_string(getpid()); }

void Drivers::set_budget(std::size_t bytes) { set_device_memory_(0, bytes * 2); }

SwdStatistics Drivers::statistics() const {
  SwdStatistics all{};
  statistics_(0, &all);
  return all;
}

std::string name_of(CUresult result) { return cuda::error_name(Drivers::get().native(), result); }

}  // namespace tferry::runtime_test
