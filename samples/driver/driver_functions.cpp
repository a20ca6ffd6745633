#include "samples/driver/driver_functions.hpp"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace tferry::samples {
namespace {

// cuda.h names newer versions by macros (cuMemAlloc is cuMemAlloc_v2), and a macro's argument is expanded
// before it is turned into text where the text comes from a second macro; cuGetProcAddress wants the plain
// name.
template <typename Function>
void resolve(decltype(&::cuGetProcAddress) get, const char* name, Function& function) {
  std::string plain = name;
  const auto version = plain.rfind("_v");
  if (version != std::string::npos) plain.resize(version);
  void* address = nullptr;
  const CUresult status = get(plain.c_str(), &address, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
  if (status != CUDA_SUCCESS || address == nullptr) {
    throw std::runtime_error("the CUDA driver has no " + plain + "; it is older than CUDA 12.0");
  }
  function = reinterpret_cast<Function>(address);
}

}  // namespace

DriverFunctions load_driver() {
  DriverFunctions driver;
  driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver.library == nullptr) throw std::runtime_error(std::string("no CUDA driver: ") + dlerror());
  const auto get =
      reinterpret_cast<decltype(&::cuGetProcAddress)>(dlsym(driver.library, "cuGetProcAddress_v2"));
  if (get == nullptr)
    throw std::runtime_error("libcuda.so.1 has no cuGetProcAddress_v2; it is older than CUDA 12.0");
#define TFERRY_TEXT(name) #name
#define TFERRY_RESOLVE(name) resolve(get, TFERRY_TEXT(name), driver.name);
  TFERRY_SAMPLE_DRIVER_FUNCTIONS(TFERRY_RESOLVE)
#undef TFERRY_RESOLVE
#undef TFERRY_TEXT
  return driver;
}

}  // namespace tferry::samples
