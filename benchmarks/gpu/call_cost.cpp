// tferry-call-cost [--steps 60] [--launches 400]
//
// What a launch, an allocation and a free cost the thread that makes them, in the pattern of a training step:
// 400 tensors are alive, every launch names nine of them, and some are freed and allocated anew. Run it
// alone, under `tferry run` and under `tferry profile`: the differences are what hooks and recording cost.
// The GPU has next to nothing to do, and is waited for between steps, outside of what is timed. One JSON line
// on stdout, nanoseconds. On tests/software_driver, too, where the figures are those of that driver: good for
// comparing hooks by.
#include "samples/driver/driver_functions.hpp"
#include "tests/software_driver/control.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kNamed = 9;  // pointers in the arguments of a launch: FACTS.md counts 8.5 in GPT-2
constexpr std::size_t kAlive = 400;
constexpr std::array<std::size_t, 4> kBytes = {2048, std::size_t{2} << 20, std::size_t{3} << 20,
                                               std::size_t{24} << 20};

constexpr const char* kModule = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry touch_nothing(
  .param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4,
  .param .u64 p5, .param .u64 p6, .param .u64 p7, .param .u64 p8)
{
  ret;
}
)";

struct Options {
  int steps = 60;
  int launches = 400;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const int value = i + 1 < argc ? std::atoi(argv[i + 1]) : 0;
    if (std::strcmp(argv[i], "--steps") == 0 && value > 0) {
      options.steps = value;
    } else if (std::strcmp(argv[i], "--launches") == 0 && value > 0) {
      options.launches = value;
    } else {
      throw std::runtime_error("usage: tferry-call-cost [--steps 60] [--launches 400]");
    }
  }
  return options;
}

/// The times of one kind of call.
class Times {
 public:
  template <class Call>
  void time(Call call) {
    const auto begin = Clock::now();
    const CUresult result = call();
    const auto end = Clock::now();
    if (result != CUDA_SUCCESS) throw std::runtime_error("a call answered " + std::to_string(result));
    samples_.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
  }

  void print(const char* name) {
    std::sort(samples_.begin(), samples_.end());
    const auto at = [&](double part) {
      return samples_[static_cast<std::size_t>(part * static_cast<double>(samples_.size() - 1))];
    };
    long long sum = 0;
    for (const auto sample : samples_) sum += sample;
    std::printf("\"%s\": {\"calls\": %zu, \"median\": %lld, \"p90\": %lld, \"p99\": %lld, \"mean\": %lld}",
                name, samples_.size(), static_cast<long long>(at(0.5)), static_cast<long long>(at(0.9)),
                static_cast<long long>(at(0.99)), sum / static_cast<long long>(samples_.size()));
  }

 private:
  std::vector<long long> samples_;
};

/// The software driver has no PTX compiler: it is told of the kernel.
void introduce_kernel(void* library) {
  const auto add = reinterpret_cast<decltype(&::swd_register_kernel)>(dlsym(library, "swd_register_kernel"));
  if (add == nullptr) return;
  std::array<SwdParameter, kNamed> parameters{};
  for (unsigned i = 0; i < kNamed; ++i) parameters[i] = {i * sizeof(CUdeviceptr), sizeof(CUdeviceptr)};
  add("touch_nothing", [](const SwdLaunch*) {}, parameters.data(), kNamed, 0);
}

void run(const Options& options) {
  const auto driver = tferry::samples::load_driver();
  introduce_kernel(driver.library);
  const auto check = [&](CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    const char* name = "unknown error";
    driver.cuGetErrorName(result, &name);
    throw std::runtime_error(std::string(what) + ": " + name);
  };
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;
  check(driver.cuInit(0), "cuInit");
  check(driver.cuDeviceGet(&device, 0), "cuDeviceGet");
  check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(driver.cuModuleLoadData(&module, kModule), "cuModuleLoadData");
  check(driver.cuModuleGetFunction(&kernel, module, "touch_nothing"), "cuModuleGetFunction");
  check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

  std::vector<CUdeviceptr> alive(kAlive);
  for (std::size_t i = 0; i < kAlive; ++i)
    check(driver.cuMemAlloc(&alive[i], kBytes[i % kBytes.size()]), "cuMemAlloc");
  Times launches, allocations, frees;
  std::size_t next = 0;
  for (int step = 0; step < options.steps; ++step) {
    Times discarded;
    const bool warm = step >= options.steps / 4;
    for (int launch = 0; launch < options.launches; ++launch) {
      const std::size_t victim = next % kAlive;
      (warm ? frees : discarded).time([&] { return driver.cuMemFree(alive[victim]); });
      (warm ? allocations : discarded).time([&] {
        return driver.cuMemAlloc(&alive[victim], kBytes[victim % kBytes.size()]);
      });
      std::array<void*, kNamed> parameters{};
      for (std::size_t i = 0; i < kNamed; ++i) parameters[i] = &alive[(victim + i * 37) % kAlive];
      (warm ? launches : discarded).time([&] {
        return driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters.data(), nullptr);
      });
      next += 7;
    }
    check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  }
  std::printf("{");
  launches.print("launch");
  std::printf(", ");
  allocations.print("allocate");
  std::printf(", ");
  frees.print("free");
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tferry-call-cost: %s\n", failure.what());
    return 1;
  }
}
