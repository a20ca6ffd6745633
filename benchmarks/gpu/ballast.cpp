// tferry-ballast --leave 10.5GiB [--device 0]
//
// Takes all memory of a GPU but what it is told to leave, says so on stdout, and holds it until its standard
// input is closed. That proves a budget: a job beside it that needs more than what is left dies. Plain device
// allocations, in falling sizes, each touched by nothing: device memory is committed when it is allocated.
#include "benchmarks/gpu/byte_size.hpp"

#include <cuda.h>

#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t kLargestPiece = std::size_t{1} << 30;
constexpr std::size_t kSmallestPiece = std::size_t{2} << 20;  // the granularity of device memory

struct Options {
  std::uint64_t leave = 0;
  int device = 0;
};

Options parse(int argc, char** argv) {
  Options options;
  bool leave_given = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--leave") {
      const auto bytes = tferry::benchmarks::parse_byte_size(argv[i + 1]);
      if (!bytes)
        throw std::runtime_error("--leave " + std::string(argv[i + 1]) + " is no size; try 10.5GiB");
      options.leave = *bytes;
      leave_given = true;
    } else if (name == "--device") {
      options.device = std::stoi(argv[i + 1]);
    } else {
      throw std::runtime_error("unknown option " + name);
    }
  }
  if (!leave_given || argc % 2 == 0)
    throw std::runtime_error("usage: tferry-ballast --leave SIZE [--device N]");
  return options;
}

class Driver {
 public:
  explicit Driver(int device) {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(std::string("no CUDA driver: ") + dlerror());
    find("cuGetErrorName", error_name_);
    find("cuMemGetInfo_v2", memory_info_);
    find("cuMemAlloc_v2", allocate_);
    decltype(&::cuInit) init = nullptr;
    decltype(&::cuDeviceGet) get = nullptr;
    decltype(&::cuDevicePrimaryCtxRetain) retain = nullptr;
    decltype(&::cuCtxSetCurrent) set_current = nullptr;
    find("cuInit", init);
    find("cuDeviceGet", get);
    find("cuDevicePrimaryCtxRetain", retain);
    find("cuCtxSetCurrent", set_current);
    check(init(0), "cuInit");
    CUdevice handle = 0;
    CUcontext context = nullptr;
    check(get(&handle, device), "cuDeviceGet");
    check(retain(&context, handle), "cuDevicePrimaryCtxRetain");
    check(set_current(context), "cuCtxSetCurrent");
  }

  std::size_t free_bytes() const {
    std::size_t free = 0;
    std::size_t total = 0;
    check(memory_info_(&free, &total), "cuMemGetInfo");
    return free;
  }

  /// False when there is no room for a piece of that size.
  bool allocate(std::size_t bytes) const {
    CUdeviceptr address = 0;
    const CUresult status = allocate_(&address, bytes);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) return false;
    check(status, "cuMemAlloc of " + std::to_string(bytes) + " bytes");
    return true;
  }

 private:
  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("the CUDA driver has no ") + name);
  }

  void check(CUresult status, const std::string& what) const {
    if (status == CUDA_SUCCESS) return;
    const char* name = nullptr;
    if (error_name_(status, &name) != CUDA_SUCCESS) name = "unknown error";
    throw std::runtime_error(what + ": " + name);
  }

  void* library_ = nullptr;
  decltype(&::cuGetErrorName) error_name_ = nullptr;
  decltype(&::cuMemGetInfo) memory_info_ = nullptr;
  decltype(&::cuMemAlloc) allocate_ = nullptr;
};

std::size_t fill(const Driver& driver, std::uint64_t leave) {
  std::size_t held = 0;
  std::size_t piece = kLargestPiece;
  while (piece >= kSmallestPiece) {
    const std::size_t free = driver.free_bytes();
    if (free < leave + piece || !driver.allocate(piece)) {
      piece /= 2;
      continue;
    }
    held += piece;
  }
  return held;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    const Driver driver(options.device);
    const std::size_t before = driver.free_bytes();
    if (before < options.leave) {
      throw std::runtime_error("only " + std::to_string(before) + " bytes are free, less than the " +
                               std::to_string(options.leave) + " to leave");
    }
    const std::size_t held = fill(driver, options.leave);
    std::printf("ballast ready held_bytes %zu free_bytes %zu\n", held, driver.free_bytes());
    std::fflush(stdout);
    char discard[256];
    while (read(STDIN_FILENO, discard, sizeof discard) > 0) {
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ballast: %s\n", error.what());
    return 1;
  }
}
