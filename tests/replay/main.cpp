// tferry-replay SPOOL [--repeat N]
//
// Does again what a recorded job asked its driver for: the same allocations, launches, copies and sets, in
// the same order, of the same sizes and by the same names. Kernels do nothing. On tests/software_driver only,
// where a plan made from a GPU's recording can so be followed step by step on any machine:
//
//   tferry run --plan gpt2.tferry --budget 9.8GiB tferry-replay gpt2.runtime.spool.gz
//
// --repeat carries the whole recording out N times, one after the other.
#include "samples/driver/driver_functions.hpp"
#include "tests/replay/recorded_job.hpp"
#include "tests/software_driver/control.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using namespace tferry;
using replay::RecordedJob;

class Replay {
 public:
  explicit Replay(const RecordedJob& job) : job_(job), driver_(samples::load_driver()) {
    register_kernels();
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(driver_.cuInit(0), "cuInit");
    check(driver_.cuDeviceGet(&device, 0), "cuDeviceGet");
    check(driver_.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(driver_.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(driver_.cuModuleLoadData(&module_, "any image"), "cuModuleLoadData");
  }

  void run() {
    for (const RecordedJob::Call& call : job_.calls) {
      std::visit([this](const auto& record) { carry_out(record); }, call);
    }
    check(driver_.cuCtxSynchronize(), "cuCtxSynchronize");
    for (const auto& [allocation, address] : live_) check(driver_.cuMemFree(address), "cuMemFree");
    live_.clear();
    ranges_.clear();
  }

  std::size_t operations() const { return operations_; }

 private:
  void register_kernels() {
    const auto add =
        reinterpret_cast<decltype(&::swd_register_kernel)>(dlsym(driver_.library, "swd_register_kernel"));
    if (add == nullptr) throw std::runtime_error("this is not the software driver; kernels here do nothing");
    for (const RecordedJob::Call& call : job_.calls) {
      if (const auto* launch = std::get_if<trace::KernelLaunchRecord>(&call)) {
        std::size_t& most = parameters_[launch->name];
        most = std::max(most, job_.accesses_of(launch->operation).size());
      }
    }
    for (const auto& [name, count] : parameters_) {
      std::vector<SwdParameter> parameters(count);
      for (std::size_t i = 0; i < count; ++i) parameters[i] = {i * sizeof(CUdeviceptr), sizeof(CUdeviceptr)};
      add(
          job_.strings.at(name).c_str(), [](const SwdLaunch*) {}, parameters.data(),
          static_cast<unsigned>(count), 0);
    }
  }

  void carry_out(const trace::AllocationRecord& record) {
    CUdeviceptr address = 0;
    check(driver_.cuMemAlloc(&address, static_cast<std::size_t>(record.bytes)), "cuMemAlloc");
    live_[record.allocation] = address;
    ranges_[record.address] = {record.bytes, address};
    recorded_at_[record.allocation] = record.address;
  }

  void carry_out(const trace::FreeRecord& record) {
    const auto found = live_.find(record.allocation);
    if (found == live_.end()) return;
    check(driver_.cuMemFree(found->second), "cuMemFree");
    ranges_.erase(recorded_at_[record.allocation]);
    live_.erase(found);
  }

  void carry_out(const trace::KernelLaunchRecord& record) {
    const std::size_t count = parameters_.at(record.name);
    std::vector<CUdeviceptr> values(count, 0);
    std::vector<void*> pointers(count);
    const auto& accesses = job_.accesses_of(record.operation);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const auto found = live_.find(accesses[i].allocation);
      if (found != live_.end()) values[i] = found->second + static_cast<CUdeviceptr>(accesses[i].offset);
    }
    for (std::size_t i = 0; i < count; ++i) pointers[i] = &values[i];
    check(driver_.cuLaunchKernel(function(record.name), record.grid.x, record.grid.y, record.grid.z,
                                 record.block.x, record.block.y, record.block.z, record.shared_bytes,
                                 stream(record.stream), pointers.data(), nullptr),
          "cuLaunchKernel");
    ++operations_;
  }

  void carry_out(const trace::MemcpyCallRecord& record) {
    const auto bytes = static_cast<std::size_t>(record.bytes);
    const CUdeviceptr to = replayed(record.destination), from = replayed(record.source);
    if (host_.size() < bytes) {
      check(driver_.cuCtxSynchronize(), "cuCtxSynchronize");
      host_.resize(bytes);
    }
    CUstream on = stream(record.stream);
    if (to != 0 && from != 0) check(driver_.cuMemcpyDtoDAsync(to, from, bytes, on), "cuMemcpyDtoDAsync");
    if (to != 0 && from == 0)
      check(driver_.cuMemcpyHtoDAsync(to, host_.data(), bytes, on), "cuMemcpyHtoDAsync");
    if (to == 0 && from != 0)
      check(driver_.cuMemcpyDtoHAsync(host_.data(), from, bytes, on), "cuMemcpyDtoHAsync");
    ++operations_;
  }

  void carry_out(const trace::MemsetCallRecord& record) {
    const CUdeviceptr to = replayed(record.address);
    if (to == 0) return;
    check(driver_.cuMemsetD8Async(to, static_cast<unsigned char>(record.value),
                                  static_cast<std::size_t>(record.bytes), stream(record.stream)),
          "cuMemsetD8Async");
    ++operations_;
  }

  /// Where the allocation is now that held this address; 0: none did.
  CUdeviceptr replayed(std::uint64_t recorded) const {
    const auto after = ranges_.upper_bound(recorded);
    if (after == ranges_.begin()) return 0;
    const auto& [begin, range] = *std::prev(after);
    return recorded - begin < static_cast<std::uint64_t>(range.bytes) ? range.address + (recorded - begin)
                                                                      : 0;
  }

  CUfunction function(trace::StringId name) {
    CUfunction& known = functions_[name];
    if (known == nullptr)
      check(driver_.cuModuleGetFunction(&known, module_, job_.strings.at(name).c_str()),
            "cuModuleGetFunction");
    return known;
  }

  CUstream stream(std::uint64_t handle) {
    if (handle == 0) return nullptr;
    CUstream& known = streams_[handle];
    if (known == nullptr) check(driver_.cuStreamCreate(&known, CU_STREAM_DEFAULT), "cuStreamCreate");
    return known;
  }

  void check(CUresult result, const char* what) const {
    if (result == CUDA_SUCCESS) return;
    const char* name = "unknown error";
    driver_.cuGetErrorName(result, &name);
    throw std::runtime_error(std::string(what) + ": " + name);
  }

  struct Range {
    std::int64_t bytes = 0;
    CUdeviceptr address = 0;
  };

  const RecordedJob& job_;
  samples::DriverFunctions driver_;
  CUmodule module_ = nullptr;
  std::unordered_map<trace::StringId, std::size_t> parameters_;  ///< the most that a launch of it names
  std::unordered_map<trace::StringId, CUfunction> functions_;
  std::unordered_map<std::uint64_t, CUstream> streams_;
  std::unordered_map<std::uint64_t, CUdeviceptr> live_;           ///< by recorded allocation
  std::unordered_map<std::uint64_t, std::uint64_t> recorded_at_;  ///< by recorded allocation
  std::map<std::uint64_t, Range> ranges_;                         ///< by recorded address
  std::vector<char> host_;
  std::size_t operations_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool repeated = argc == 4 && std::strcmp(argv[2], "--repeat") == 0;
    if (argc != 2 && !repeated) throw std::runtime_error("usage: tferry-replay SPOOL [--repeat N]");
    const RecordedJob job = replay::read_recorded_job(argv[1]);
    Replay replay(job);
    for (int i = 0; i < (repeated ? std::atoi(argv[3]) : 1); ++i) replay.run();
    std::printf("replayed %zu operations\n", replay.operations());
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tferry-replay: %s\n", failure.what());
    return 1;
  }
}
