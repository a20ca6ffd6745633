// The layers sample by the driver API alone: see samples/layers/machine.hpp for what it does.
//
// Its kernels are host functions, registered with Tensorferry's software driver (tests/software_driver), so
// it runs on that and on nothing else, and needs no GPU: `tferry demo` and the end-to-end tests use it. Entry
// points are found as real programs find them: dlopen of libcuda.so.1, then cuGetProcAddress.
#include "samples/driver/driver_functions.hpp"
#include "samples/driver/host_kernels.hpp"
#include "samples/layers/machine.hpp"
#include "samples/layers/main.hpp"
#include "samples/layers/options.hpp"
#include "samples/layers/schedule.hpp"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::samples {
namespace {

using Word = std::uint64_t;

constexpr unsigned kThreads = 256;

class DriverMachine final : public Machine {
 public:
  DriverMachine(const LayersOptions& options, const DriverFunctions& driver)
      : driver_(driver), stream_ordered_(options.stream_ordered) {
    check(driver_.cuInit(0), "cuInit");
    CUdevice device = 0;
    check(driver_.cuDeviceGet(&device, options.device), "cuDeviceGet");
    check(driver_.cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
    check(driver_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    check(driver_.cuModuleLoadData(&module_, kModuleImage), "cuModuleLoadData");
    for (const HostKernel kernel :
         {HostKernel::kFill, HostKernel::kCombine, HostKernel::kUpdate, HostKernel::kSums}) {
      CUfunction function = nullptr;
      check(driver_.cuModuleGetFunction(&function, module_, name_of(kernel)), name_of(kernel));
      functions_.push_back(function);
    }
    streams_.resize(static_cast<std::size_t>(options.streams));
    for (auto& stream : streams_)
      check(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    events_.resize(kEvents);
    for (auto& event : events_)
      check(driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    staging_ = host_words(options.count() / kParts);
    host_sums_ = host_words(2);
    check(driver_.cuMemAlloc(&device_sums_, sizeof(Sums)), "cuMemAlloc of the sums");
  }

  BufferId allocate(const std::string& name, std::uint64_t count) override {
    Buffer buffer{0, count, name};
    const std::size_t bytes = count * sizeof(Word);
    const CUresult status = stream_ordered_ ? driver_.cuMemAllocAsync(&buffer.address, bytes, on(0))
                                            : driver_.cuMemAlloc(&buffer.address, bytes);
    check(status, "allocating " + name + " (" + std::to_string(bytes) + " bytes)");
    buffers_.push_back(buffer);
    return static_cast<BufferId>(buffers_.size()) - 1;
  }

  void release(BufferId id) override {
    Buffer& buffer = at(id);
    check(stream_ordered_ ? driver_.cuMemFreeAsync(buffer.address, on(0)) : driver_.cuMemFree(buffer.address),
          "freeing " + buffer.name);
    buffer.address = 0;
  }

  void fill(StreamId stream, BufferId id, Affine values) override {
    Buffer& buffer = at(id);
    void* parameters[] = {&buffer.address, &buffer.count, &values.slope, &values.offset};
    launch(HostKernel::kFill, stream, buffer.count, parameters);
  }

  void combine(StreamId stream, const Combine& operation) override {
    CombineStep step{at(operation.in).address,
                     at(operation.weight).address,
                     at(operation.bias).address,
                     at(operation.out).address,
                     at(operation.out).count,
                     operation.factor,
                     operation.work};
    void* parameters[] = {&step};
    launch(HostKernel::kCombine, stream, step.count, parameters);
  }

  void upload(StreamId stream, Part part, Affine values) override {
    const Word count = part_count(part);
    for (Word j = 0; j < count; ++j) staging_[j] = values.at(j);
    check(driver_.cuMemcpyHtoDAsync(address(part), staging_, count * sizeof(Word), on(stream)),
          "cuMemcpyHtoDAsync");
  }

  void copy(StreamId stream, Part from, Part to) override {
    check(driver_.cuMemcpyDtoDAsync(address(to), address(from), part_count(to) * sizeof(Word), on(stream)),
          "cuMemcpyDtoDAsync");
  }

  void clear(StreamId stream, Part part, std::uint8_t byte) override {
    check(driver_.cuMemsetD8Async(address(part), byte, part_count(part) * sizeof(Word), on(stream)),
          "cuMemsetD8Async");
  }

  void upload_table(const std::vector<BufferId>& ids) override {
    std::vector<Word> words{ids.size(), ids.empty() ? 0 : at(ids.front()).count};
    for (const BufferId id : ids) words.push_back(at(id).address);
    check(driver_.cuMemAlloc(&table_, words.size() * sizeof(Word)), "cuMemAlloc of the table");
    check(driver_.cuMemcpyHtoD(table_, words.data(), words.size() * sizeof(Word)),
          "cuMemcpyHtoD of the table");
  }

  void update_by_table(StreamId stream, std::uint64_t factor, std::uint64_t constant) override {
    void* parameters[] = {&table_, &factor, &constant};
    launch(HostKernel::kUpdate, stream, kThreads, parameters);
  }

  void record(EventId event, StreamId stream) override {
    check(driver_.cuEventRecord(events_.at(static_cast<std::size_t>(event)), on(stream)), "cuEventRecord");
  }

  void wait(StreamId stream, EventId event) override {
    check(driver_.cuStreamWaitEvent(on(stream), events_.at(static_cast<std::size_t>(event)), 0),
          "cuStreamWaitEvent");
  }

  void synchronize() override { check(driver_.cuCtxSynchronize(), "cuCtxSynchronize"); }

  Sums sums(StreamId stream, BufferId id) override {
    // Arguments in one buffer, as cuBLAS passes them.
    Word arguments[] = {at(id).address, at(id).count, device_sums_};
    std::size_t size = sizeof arguments;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    launch(HostKernel::kSums, stream, at(id).count, nullptr, extra);
    check(driver_.cuMemcpyDtoHAsync(host_sums_, device_sums_, sizeof(Sums), on(stream)), "cuMemcpyDtoHAsync");
    check(driver_.cuStreamSynchronize(on(stream)), "cuStreamSynchronize");
    return {host_sums_[0], host_sums_[1]};
  }

  std::vector<std::uint64_t> read(BufferId id, std::uint64_t first, std::uint64_t count) override {
    std::vector<std::uint64_t> values(count);
    synchronize();
    check(driver_.cuMemcpyDtoH(values.data(), at(id).address + first * sizeof(Word), count * sizeof(Word)),
          "cuMemcpyDtoH");
    return values;
  }

 private:
  struct Buffer {
    CUdeviceptr address;
    Word count;
    std::string name;
  };

  void check(CUresult status, const std::string& what) const {
    if (status == CUDA_SUCCESS) return;
    const char* name = nullptr;
    const char* text = nullptr;
    driver_.cuGetErrorName(status, &name);
    driver_.cuGetErrorString(status, &text);
    throw std::runtime_error(what + ": " + (name ? name : std::to_string(status)) + (text ? ": " : "") +
                             (text ? text : ""));
  }

  void launch(HostKernel kernel, StreamId stream, Word count, void** parameters, void** extra = nullptr) {
    const auto blocks = static_cast<unsigned>(std::min<Word>((count + kThreads - 1) / kThreads, 8192));
    check(driver_.cuLaunchKernel(functions_.at(static_cast<std::size_t>(kernel)), blocks, 1, 1, kThreads, 1,
                                 1, 0, on(stream), parameters, extra),
          std::string("launching ") + name_of(kernel));
  }

  Word* host_words(Word count) {
    void* memory = nullptr;
    check(driver_.cuMemHostAlloc(&memory, count * sizeof(Word), 0), "cuMemHostAlloc");
    return static_cast<Word*>(memory);
  }

  Buffer& at(BufferId id) { return buffers_.at(static_cast<std::size_t>(id)); }
  CUstream on(StreamId stream) { return streams_.at(static_cast<std::size_t>(stream)); }
  Word part_count(Part part) { return at(part.buffer).count / kParts; }
  CUdeviceptr address(Part part) {
    return at(part.buffer).address + part_count(part) * sizeof(Word) * static_cast<Word>(part.index);
  }

  const DriverFunctions& driver_;
  bool stream_ordered_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::vector<CUfunction> functions_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<Buffer> buffers_;
  Word* staging_ = nullptr;
  Word* host_sums_ = nullptr;
  CUdeviceptr device_sums_ = 0;
  CUdeviceptr table_ = 0;
};

}  // namespace
}  // namespace tferry::samples

int main(int argc, char** argv) {
  using namespace tferry::samples;
  LayersOptions options;
  const int stop = parse_layers_options(
      argc, argv, "Passes over many buffers by the driver API, on Tensorferry's software driver", options);
  if (stop >= 0) return stop;
  if (options.plan_only) {
    print_plan(options, {});
    return 0;
  }
  try {
    const DriverFunctions driver = load_driver();
    register_host_kernels(driver.library);
    DriverMachine machine(options, driver);
    return run_and_compare(options, machine);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "layers: %s\n", error.what());
    return 1;
  }
}
