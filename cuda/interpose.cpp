#include "cuda/interpose.hpp"

#include "cuda/real_dlsym.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <unordered_map>

namespace tferry::cuda {
namespace {

struct State {
  std::span<const Hook> hooks;
  bool enabled = false;
  std::atomic<long> handed_out{0};
};

State& state() {
  static State instance;
  return instance;
}

using ByAddress = std::unordered_map<void*, void*>;

/// From the real driver's address to ours. Built once, when the driver is first reached.
const ByAddress* by_address() {
  static std::atomic<const ByAddress*> ready{nullptr};
  if (const ByAddress* map = ready.load(std::memory_order_acquire)) return map;
  const Driver* table = driver();
  if (table == nullptr) return nullptr;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const ByAddress* map = ready.load(std::memory_order_acquire)) return map;
  void* handle = nullptr;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(table->cuInit), &info) != 0) {
    handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }
  auto* map = new ByAddress;
  for (const Hook& hook : state().hooks) {
    if (void* real = handle != nullptr ? real_dlsym()(handle, hook.name) : nullptr)
      map->emplace(real, hook.function);
  }
  if (handle != nullptr) dlclose(handle);
  ready.store(map, std::memory_order_release);
  return map;
}

bool is_driver_name(const char* name) { return name != nullptr && name[0] == 'c' && name[1] == 'u'; }

}  // namespace

void install_hooks(std::span<const Hook> hooks, bool enabled) {
  state().hooks = hooks;
  state().enabled = enabled;
}

void* substitute(void* real) {
  if (real == nullptr || !state().enabled) return real;
  const ByAddress* map = by_address();
  if (map == nullptr) return real;
  const auto found = map->find(real);
  if (found == map->end()) return real;
  state().handed_out.fetch_add(1, std::memory_order_relaxed);
  return found->second;
}

long hooks_handed_out() { return state().handed_out.load(std::memory_order_relaxed); }

}  // namespace tferry::cuda

extern "C" {

/// Asked by the dlsym trampoline before it jumps on: a hook's address, or null for "take the real one".
/// Pseudo handles are left alone, since what they mean depends on who calls.
__attribute__((visibility("hidden"))) void* tferry_dlsym_hook(void* handle, const char* name) {
  using namespace tferry::cuda;
  if (!is_driver_name(name) || handle == RTLD_NEXT || handle == RTLD_DEFAULT) return nullptr;
  const auto& hooks = state().hooks;
  const bool known = std::any_of(hooks.begin(), hooks.end(),
                                 [&](const Hook& hook) { return std::strcmp(hook.name, name) == 0; });
  if (!state().enabled || !known) return nullptr;
  void* real = real_dlsym()(handle, name);
  void* ours = substitute(real);
  return ours == real ? nullptr : ours;
}

__attribute__((visibility("hidden"))) void* tferry_real_dlsym() {
  return reinterpret_cast<void*>(tferry::cuda::real_dlsym());
}

}  // extern "C"
