// The layers sample by the CUDA runtime, linked statically: see samples/layers/machine.hpp for what it does.
//
//   tferry-sample-layers-cuda --buffers 64 --mib 256     16 GiB; prints "answer ok" and a hash, or the first
//   difference
//
// Its kernels take their pointers in a struct passed by value (Step), as interior pointers, and from a table
// in device memory (update_by_table): all the ways in which a launch can say, or not say, what it touches.
#include "samples/layers/machine.hpp"
#include "samples/layers/main.hpp"
#include "samples/layers/options.hpp"
#include "samples/layers/schedule.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::samples {
namespace {

using Word = unsigned long long;
static_assert(sizeof(Word) == sizeof(std::uint64_t));

constexpr int kThreads = 256;
constexpr int kNoGpu = 77;  // exit code by which test runners know a skipped test
constexpr int kMaxBlocks = 8192;

struct Step {
  const Word* in;
  const Word* weight;
  const Word* bias;
  Word* out;
  Word count;
  Word factor;
  int work;
};

struct Table {
  Word size;
  Word count;  ///< elements of every buffer
  Word* buffers[1];
};

__device__ Word first_index() { return static_cast<Word>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Word stride() { return static_cast<Word>(gridDim.x) * blockDim.x; }

__global__ void fill_kernel(Word* out, Word count, Word slope, Word offset) {
  for (Word i = first_index(); i < count; i += stride()) out[i] = slope * i + offset;
}

__global__ void combine_kernel(Step step) {
  const Word bias = step.bias[0];
  for (Word i = first_index(); i < step.count; i += stride()) {
    Word x = step.in[i];
    for (int k = 0; k < step.work; ++k) x = step.factor * x + 1;
    step.out[i] = x + step.weight[i] + bias;
  }
}

__global__ void update_by_table_kernel(const Table* table, Word factor, Word constant) {
  for (Word b = 0; b < table->size; ++b) {
    Word* buffer = table->buffers[b];
    for (Word i = first_index(); i < table->count; i += stride()) buffer[i] = factor * buffer[i] + constant;
  }
}

__global__ void sums_kernel(const Word* in, Word count, Word* sums) {
  Word plain = 0;
  Word weighted = 0;
  for (Word i = first_index(); i < count; i += stride()) {
    plain += in[i];
    weighted += (i + 1) * in[i];
  }
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    plain += __shfl_down_sync(0xffffffffu, plain, offset);
    weighted += __shfl_down_sync(0xffffffffu, weighted, offset);
  }
  if (threadIdx.x % warpSize == 0) {
    atomicAdd(&sums[0], plain);  // modulo 2^64, so the order does not matter
    atomicAdd(&sums[1], weighted);
  }
}

void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(what + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

unsigned blocks_for(Word count) {
  return static_cast<unsigned>(std::min<Word>((count + kThreads - 1) / kThreads, kMaxBlocks));
}

class CudaMachine final : public Machine {
 public:
  explicit CudaMachine(const LayersOptions& options) : stream_ordered_(options.stream_ordered) {
    check(cudaSetDevice(options.device), "cudaSetDevice");
    streams_.resize(static_cast<std::size_t>(options.streams));
    for (auto& stream : streams_) {
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    }
    events_.resize(kEvents);
    for (auto& event : events_) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }
    staging_count_ = options.count() / kParts;
    check(cudaMallocHost(&staging_, staging_count_ * sizeof(Word)), "cudaMallocHost of the upload buffer");
    check(cudaMallocHost(&host_sums_, sizeof(Sums)), "cudaMallocHost of the sums");
    check(cudaMalloc(&device_sums_, sizeof(Sums)), "cudaMalloc of the sums");
  }

  BufferId allocate(const std::string& name, std::uint64_t count) override {
    Buffer buffer{nullptr, count, name};
    const std::size_t bytes = count * sizeof(Word);
    const auto status =
        stream_ordered_ ? cudaMallocAsync(&buffer.data, bytes, streams_[0]) : cudaMalloc(&buffer.data, bytes);
    check(status, "allocating " + name + " (" + std::to_string(bytes) + " bytes)");
    buffers_.push_back(buffer);
    return static_cast<BufferId>(buffers_.size()) - 1;
  }

  void release(BufferId id) override {
    Buffer& buffer = at(id);
    check(stream_ordered_ ? cudaFreeAsync(buffer.data, streams_[0]) : cudaFree(buffer.data),
          "freeing " + buffer.name);
    buffer.data = nullptr;
  }

  void fill(StreamId stream, BufferId id, Affine values) override {
    const Buffer& buffer = at(id);
    fill_kernel<<<blocks_for(buffer.count), kThreads, 0, on(stream)>>>(buffer.data, buffer.count,
                                                                       values.slope, values.offset);
    check(cudaGetLastError(), "filling " + buffer.name);
  }

  void combine(StreamId stream, const Combine& operation) override {
    const Buffer& out = at(operation.out);
    const Step step{at(operation.in).data,
                    at(operation.weight).data,
                    at(operation.bias).data,
                    out.data,
                    out.count,
                    operation.factor,
                    operation.work};
    combine_kernel<<<blocks_for(out.count), kThreads, 0, on(stream)>>>(step);
    check(cudaGetLastError(), "combining into " + out.name);
  }

  void upload(StreamId stream, Part part, Affine values) override {
    const Word count = part_count(part);
    for (Word j = 0; j < count; ++j) staging_[j] = values.at(j);
    check(cudaMemcpyAsync(address(part), staging_, count * sizeof(Word), cudaMemcpyHostToDevice, on(stream)),
          "uploading into " + at(part.buffer).name);
  }

  void copy(StreamId stream, Part from, Part to) override {
    check(cudaMemcpyAsync(address(to), address(from), part_count(to) * sizeof(Word), cudaMemcpyDeviceToDevice,
                          on(stream)),
          "copying into " + at(to.buffer).name);
  }

  void clear(StreamId stream, Part part, std::uint8_t byte) override {
    check(cudaMemsetAsync(address(part), byte, part_count(part) * sizeof(Word), on(stream)),
          "clearing a part of " + at(part.buffer).name);
  }

  void upload_table(const std::vector<BufferId>& ids) override {
    std::vector<Word> words{ids.size(), ids.empty() ? 0 : at(ids.front()).count};
    for (const BufferId id : ids) words.push_back(reinterpret_cast<Word>(at(id).data));
    check(cudaMalloc(&table_, std::max(words.size() * sizeof(Word), sizeof(Table))),
          "cudaMalloc of the table");
    check(cudaMemcpy(table_, words.data(), words.size() * sizeof(Word), cudaMemcpyHostToDevice),
          "uploading the table");
  }

  void update_by_table(StreamId stream, std::uint64_t factor, std::uint64_t constant) override {
    update_by_table_kernel<<<kMaxBlocks, kThreads, 0, on(stream)>>>(table_, factor, constant);
    check(cudaGetLastError(), "updating by table");
  }

  void record(EventId event, StreamId stream) override {
    check(cudaEventRecord(events_.at(static_cast<std::size_t>(event)), on(stream)), "cudaEventRecord");
  }

  void wait(StreamId stream, EventId event) override {
    check(cudaStreamWaitEvent(on(stream), events_.at(static_cast<std::size_t>(event)), 0),
          "cudaStreamWaitEvent");
  }

  void synchronize() override { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

  Sums sums(StreamId stream, BufferId id) override {
    const Buffer& buffer = at(id);
    check(cudaMemsetAsync(device_sums_, 0, sizeof(Sums), on(stream)), "clearing the sums");
    sums_kernel<<<blocks_for(buffer.count), kThreads, 0, on(stream)>>>(buffer.data, buffer.count,
                                                                       device_sums_);
    check(cudaGetLastError(), "summing " + buffer.name);
    check(cudaMemcpyAsync(host_sums_, device_sums_, sizeof(Sums), cudaMemcpyDeviceToHost, on(stream)),
          "reading the sums");
    check(cudaStreamSynchronize(on(stream)), "summing " + buffer.name);
    return {host_sums_[0], host_sums_[1]};
  }

  std::vector<std::uint64_t> read(BufferId id, std::uint64_t first, std::uint64_t count) override {
    std::vector<std::uint64_t> values(count);
    synchronize();
    check(cudaMemcpy(values.data(), at(id).data + first, count * sizeof(Word), cudaMemcpyDeviceToHost),
          "reading " + at(id).name);
    return values;
  }

 private:
  struct Buffer {
    Word* data;
    Word count;
    std::string name;
  };

  Buffer& at(BufferId id) { return buffers_.at(static_cast<std::size_t>(id)); }
  cudaStream_t on(StreamId stream) { return streams_.at(static_cast<std::size_t>(stream)); }
  Word part_count(Part part) { return at(part.buffer).count / kParts; }
  Word* address(Part part) { return at(part.buffer).data + part_count(part) * static_cast<Word>(part.index); }

  bool stream_ordered_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  std::vector<Buffer> buffers_;
  Word staging_count_ = 0;
  Word* staging_ = nullptr;
  Word* host_sums_ = nullptr;
  Word* device_sums_ = nullptr;
  Table* table_ = nullptr;
};

/// Why there is no GPU to run on, or an empty string.
std::string no_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
  return count > 0 ? "" : "the driver knows of none";
}

}  // namespace
}  // namespace tferry::samples

int main(int argc, char** argv) {
  using namespace tferry::samples;
  LayersOptions options;
  const int stop = parse_layers_options(
      argc, argv, "Passes over many buffers by the CUDA runtime, with a known answer", options);
  if (stop >= 0) return stop;
  if (options.plan_only) {
    print_plan(options, {.clears_sums = true, .least_table = sizeof(Table)});
    return 0;
  }
  const std::string missing = no_gpu();
  if (!missing.empty()) {
    std::fprintf(stderr, "layers: no usable GPU: %s\n", missing.c_str());
    return kNoGpu;
  }
  try {
    CudaMachine machine(options);
    return run_and_compare(options, machine);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "layers: %s\n", error.what());
    return 1;
  }
}
