#include "cuda/next_library.hpp"

#include "cuda/real_dlsym.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string>
#include <vector>

namespace tferry::cuda {
namespace {

/// The function of that name which this library, or one that it was linked to, has beside the hook. A library
/// in which it is found stays loaded.
void* in_library(const char* file, const char* name, const void* hook) {
  void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = real_dlsym()(library, name);
  if (found != nullptr && found != hook) return found;
  dlclose(library);
  return nullptr;
}

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0')
          static_cast<std::vector<std::string>*>(into)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

void* look_up(const char* name, const void* hook, const void* caller) {
  void* next = real_dlsym()(RTLD_NEXT, name);
  if (next != nullptr && next != hook) return next;
  Dl_info library{};
  if (dladdr(caller, &library) != 0) {
    if (void* found = in_library(library.dli_fname, name, hook)) return found;
  }
  for (const std::string& file : loaded_libraries()) {
    if (void* found = in_library(file.c_str(), name, hook)) return found;
  }
  return nullptr;
}

}  // namespace

void* next_function(std::atomic<void*>& known, const char* name, const void* hook, const void* caller) {
  void* next = known.load(std::memory_order_acquire);
  if (next == nullptr) {
    next = look_up(name, hook, caller);
    known.store(next, std::memory_order_release);
  }
  return next;
}

}  // namespace tferry::cuda
