#include "cuda/driver.hpp"

#include "cuda/real_dlsym.hpp"
#include "trace/job_environment.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace tferry::cuda {
namespace {

const char* driver_file() {
  const char* path = std::getenv(trace::environment::kDriverPath);
  return path != nullptr && *path != '\0' ? path : "libcuda.so.1";
}

}  // namespace

Driver Driver::from_library(void* handle, void* (*lookup)(void*, const char*)) {
  Driver table;
#define TFERRY_CALL(name) table.name = reinterpret_cast<decltype(table.name)>(lookup(handle, #name));
#define TFERRY_VARIANT(name, like) TFERRY_CALL(name)
#include "cuda/driver_calls.def"
#undef TFERRY_CALL
#undef TFERRY_VARIANT
  return table;
}

const Driver* driver() {
  static std::atomic<const Driver*> ready{nullptr};
  if (const Driver* table = ready.load(std::memory_order_acquire)) return table;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Driver* table = ready.load(std::memory_order_acquire)) return table;
  void* handle = dlopen(driver_file(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  // Kept for the life of the process: the program may call through it until its very end.
  auto* table = new Driver(Driver::from_library(handle, real_dlsym()));
  ready.store(table, std::memory_order_release);
  return table;
}

bool driver_is_loaded() {
  void* handle = dlopen(driver_file(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  dlclose(handle);
  return true;
}

const char* error_name(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  if (driver.cuGetErrorName != nullptr && driver.cuGetErrorName(result, &name) == CUDA_SUCCESS &&
      name != nullptr) {
    return name;
  }
  thread_local char text[32];
  std::snprintf(text, sizeof text, "CUDA error %d", static_cast<int>(result));
  return text;
}

}  // namespace tferry::cuda
