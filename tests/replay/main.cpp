// tferry-replay SPOOL [--times SPOOL] [--steps N] [--repeat N]
//
// Does again what a recorded job asked its driver for: the same allocations, launches, copies and sets, in
// the same order, of the same sizes and by the same names. Kernels do nothing. On tests/software_driver only,
// where a plan made from a GPU's recording can so be followed step by step on any machine:
//
//   tferry run --plan gpt2.tferry --budget 9.8GiB tferry-replay gpt2.runtime.spool.gz
//
// --times   kernels take virtual time: the median of those of that name and grid in the collector's spool
// --steps   of all that the job did, its last iteration is done N times more before what comes after it
// --repeat  carries the whole recording out N times, one after the other
//
// With SWD_CONTENTS=0 in the environment, jobs larger than this machine's memory can be replayed.
#include "samples/driver/driver_functions.hpp"
#include "tests/replay/last_iteration.hpp"
#include "tests/replay/options.hpp"
#include "tests/replay/recorded_job.hpp"
#include "tests/replay/recorded_times.hpp"
#include "tests/software_driver/control.hpp"

#include <algorithm>
#include <cstdio>
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
  Replay(const RecordedJob& job, const replay::RecordedTimes& times, const replay::Options& options)
      : job_(job), times_(times), options_(options), driver_(samples::load_driver()) {
    count_parameters();
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(driver_.cuInit(0), "cuInit");
    check(driver_.cuDeviceGet(&device, 0), "cuDeviceGet");
    check(driver_.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(driver_.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  }

  void run() {
    const replay::LastIteration last =
        options_.steps > 0 ? replay::last_iteration(job_) : replay::LastIteration{};
    carry_out(0, last.end);
    for (int step = 0; step < options_.steps; ++step) {
      for (const auto& [older, younger] : last.successors) rename(younger, older);
      carry_out(last.begin, last.end);
    }
    carry_out(last.end, job_.calls.size());
    check(driver_.cuCtxSynchronize(), "cuCtxSynchronize");
    for (const auto& [allocation, address] : live_) check(driver_.cuMemFree(address), "cuMemFree");
    live_.clear();
    ranges_.clear();
  }

  std::size_t operations() const { return operations_; }

 private:
  void count_parameters() {
    add_kernel_ =
        reinterpret_cast<decltype(&::swd_register_kernel)>(dlsym(driver_.library, "swd_register_kernel"));
    if (add_kernel_ == nullptr)
      throw std::runtime_error("this is not the software driver; kernels here do nothing");
    for (const RecordedJob::Call& call : job_.calls) {
      if (const auto* launch = std::get_if<trace::KernelLaunchRecord>(&call)) {
        std::size_t& most = parameters_[launch->name];
        most = std::max(most, job_.accesses_of(launch->operation).size());
      }
    }
  }

  void carry_out(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::visit([this](const auto& record) { carry_out(record); }, job_.calls[i]);
    }
  }

  /// What is left of one allocation is another one from now on.
  void rename(std::uint64_t from, std::uint64_t to) {
    const auto found = live_.find(from);
    if (found == live_.end() || live_.contains(to)) return;
    const auto range = ranges_.extract(recorded_at_[from]);
    if (!range.empty()) ranges_[recorded_at_[to]] = range.mapped();
    live_[to] = found->second;
    live_.erase(from);
  }

  void carry_out(const trace::AllocationRecord& record) {
    if (const auto known = live_.find(record.allocation); known != live_.end()) {
      check(driver_.cuMemFree(known->second), "cuMemFree");  // that of the step before, of which nobody knew
      live_.erase(known);
    }
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
    check(driver_.cuLaunchKernel(function(record), record.grid.x, record.grid.y, record.grid.z,
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

  /// A kernel takes as long as it did in this grid, so each has a function of its own.
  CUfunction function(const trace::KernelLaunchRecord& record) {
    CUfunction& known = functions_[replay::RecordedTimes::key(record.name, record.grid)];
    if (known != nullptr) return known;
    const std::size_t count = parameters_.at(record.name);
    const std::string& name = job_.strings.at(record.name);
    std::vector<SwdParameter> parameters(count);
    for (std::size_t i = 0; i < count; ++i) parameters[i] = {i * sizeof(CUdeviceptr), sizeof(CUdeviceptr)};
    add_kernel_(
        name.c_str(), [](const SwdLaunch*) {}, parameters.data(), static_cast<unsigned>(count),
        times_.median_ns(record.name, record.grid));
    CUmodule module = nullptr;  // in which the name means what was registered last
    check(driver_.cuModuleLoadData(&module, "any image"), "cuModuleLoadData");
    check(driver_.cuModuleGetFunction(&known, module, name.c_str()), "cuModuleGetFunction");
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
  const replay::RecordedTimes& times_;
  const replay::Options& options_;
  samples::DriverFunctions driver_;
  decltype(&::swd_register_kernel) add_kernel_ = nullptr;
  std::unordered_map<trace::StringId, std::size_t> parameters_;  ///< the most that a launch of it names
  std::unordered_map<std::uint64_t, CUfunction> functions_;      ///< by name and grid
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
    const replay::Options options = replay::parse_options(argc, argv);
    const RecordedJob job = replay::read_recorded_job(options.spool);
    const replay::RecordedTimes times(options.times);
    Replay replay(job, times, options);
    for (int i = 0; i < options.repeat; ++i) replay.run();
    std::printf("replayed %zu operations\n", replay.operations());
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tferry-replay: %s\n", failure.what());
    return 1;
  }
}
