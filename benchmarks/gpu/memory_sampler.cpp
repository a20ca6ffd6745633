// tferry-memory-sampler [--device 0] [--interval-us 5000]
//
// Reads the memory in use on a GPU by NVML, from outside of every process that uses it, until its standard
// input is closed; then prints one JSON line with the first, the last and the largest reading. Prints
// "sampler ready USED" once it has the first. What a job takes is the largest less the first, where nothing
// else on the card changes meanwhile.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {

/// The part of NVML's interface that is used; the toolkit has no nvml.h on every machine. From NVIDIA's NVML
/// API reference: nvmlReturn_t is an enumeration whose 0 is success, nvmlMemory_t three 64-bit byte counts.
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
using Init = int (*)();
using HandleByIndex = int (*)(unsigned, void**);
using MemoryInfo = int (*)(void*, Memory*);
using ErrorString = const char* (*)(int);

class Card {
 public:
  explicit Card(unsigned index) {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(std::string("no NVML: ") + dlerror());
    error_string_ = find<ErrorString>("nvmlErrorString");
    memory_info_ = find<MemoryInfo>("nvmlDeviceGetMemoryInfo");
    check(find<Init>("nvmlInit_v2")(), "nvmlInit");
    check(find<HandleByIndex>("nvmlDeviceGetHandleByIndex_v2")(index, &handle_),
          "nvmlDeviceGetHandleByIndex");
  }

  Memory memory() const {
    Memory memory{};
    check(memory_info_(handle_, &memory), "nvmlDeviceGetMemoryInfo");
    return memory;
  }

 private:
  template <typename Function>
  Function find(const char* name) {
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("NVML has no ") + name);
    return function;
  }

  void check(int status, const char* what) const {
    if (status != 0) throw std::runtime_error(std::string(what) + ": " + error_string_(status));
  }

  void* library_ = nullptr;
  void* handle_ = nullptr;
  ErrorString error_string_ = nullptr;
  MemoryInfo memory_info_ = nullptr;
};

/// Waits until the next reading is due; true when standard input was closed.
bool closed_within(std::chrono::nanoseconds wait) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const timespec timeout{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
  if (ppoll(&input, 1, &timeout, nullptr) <= 0) return false;
  char discard[256];
  return read(STDIN_FILENO, discard, sizeof discard) <= 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    unsigned device = 0;
    std::chrono::microseconds interval{5000};
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      if (i + 1 < argc && name == "--device") {
        device = static_cast<unsigned>(std::stoul(argv[i + 1]));
      } else if (i + 1 < argc && name == "--interval-us") {
        interval = std::chrono::microseconds(std::stol(argv[i + 1]));
      } else {
        throw std::runtime_error("usage: tferry-memory-sampler [--device N] [--interval-us US]");
      }
    }
    const Card card(device);
    const Memory first = card.memory();
    std::printf("sampler ready %llu\n", first.used);
    std::fflush(stdout);
    Memory last = first;
    unsigned long long peak = first.used;
    unsigned long long samples = 1;
    const auto start = std::chrono::steady_clock::now();
    auto due = start + interval;
    while (!closed_within(std::max(due - std::chrono::steady_clock::now(), std::chrono::nanoseconds{0}))) {
      last = card.memory();
      peak = std::max(peak, last.used);
      ++samples;
      due = std::max(due + interval, std::chrono::steady_clock::now());
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf(
        "{\"source\":\"nvmlDeviceGetMemoryInfo\",\"total_bytes\":%llu,\"first_used_bytes\":%llu,"
        "\"last_used_bytes\":%llu,\"peak_used_bytes\":%llu,\"samples\":%llu,\"seconds\":%.3f}\n",
        first.total, first.used, last.used, peak, samples, seconds.count());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memory-sampler: %s\n", error.what());
    return 1;
  }
}
