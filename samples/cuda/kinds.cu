// One small job for each kind of thing that a recording knows, with known counts and bytes, by the CUDA
// runtime.
//
//   tferry-sample-kinds KIND      kinds: those of main()
//
// Prints what a recording has to show (kinds.cuh says how). Ends with "answer ok", or with the first thing
// that is wrong. Exit code 77: not possible here (no GPU, one GPU for peers, no managed memory).
#include "kinds.cuh"

#include <cstring>
#include <map>
#include <vector>

namespace kinds {
namespace {

constexpr int kNotHere = 77;

/// Copies of every direction and host memory kind, and memsets.
void copies() {
  unsigned *device = nullptr, *other = nullptr, *pinned = nullptr;
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMalloc(&other, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  std::vector<unsigned> pageable(kWords, 3);
  std::memset(pinned, 0, kBytes);
  constexpr int kTimes = 5;
  for (int i = 0; i < kTimes; ++i) {
    CHECK(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device, pageable.data(), kBytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(other, device, kBytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpyAsync(pinned, other, kBytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(other, i, kBytes / 2));
  }
  CHECK(cudaDeviceSynchronize());
  expect(pinned[7] == 3, "copied words");
  known("memcpy host_to_device", 2 * kTimes, 2 * kTimes * kBytes);
  known("memcpy device_to_device", kTimes, kTimes * kBytes);
  known("memcpy device_to_host", kTimes, kTimes * kBytes);
  known("memset", kTimes, kTimes * kBytes / 2);
  const auto pair = [](const char* kind, const void* from, const void* to) {
    known(kind, kTimes, kTimes * kBytes, "source_address=" + at(from) + " destination_address=" + at(to));
  };
  pair("memcpy host_to_device", pinned, device);
  pair("memcpy host_to_device", pageable.data(), device);
  pair("memcpy device_to_device", device, other);
  pair("memcpy device_to_host", other, pinned);
  known("memset", kTimes, kTimes * kBytes / 2, "address=" + at(other));
  known("memcpy host_to_device", kTimes, 0, "source_kind=pinned destination_kind=device");
  known("memcpy host_to_device", kTimes, 0, "source_kind=pageable destination_kind=device");
  known("memcpy device_to_device", kTimes, 0, "source_kind=device destination_kind=device");
  known("memcpy device_to_host", kTimes, 0, "source_kind=device destination_kind=pinned");
}

/// A captured graph of three kernels and a copy, launched again and again.
void graphs() {
  unsigned *device = nullptr, *other = nullptr;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMalloc(&other, kBytes));
  CHECK(cudaMemset(device, 0, kBytes));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (unsigned i = 1; i <= 3; ++i) launch(device, i, stream);
  CHECK(cudaMemcpyAsync(other, device, kBytes, cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  constexpr int kLaunches = 7;
  for (int i = 0; i < kLaunches; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  unsigned word = 0;
  CHECK(cudaMemcpy(&word, other, sizeof word, cudaMemcpyDeviceToHost));
  expect(word == 6 * kLaunches, "sum of the graph's kernels");
  known("kernel of_graphs", 3 * kLaunches);
  known("graph_launch", kLaunches);
  known("memcpy of_graphs", kLaunches, kLaunches * kBytes);
  known("access graph", 2 * kLaunches);  // each launch names both buffers
}

/// Memory that is no plain device memory: managed, pinned, registered, and arrays, each with a size of its
/// own.
void memory() {
  constexpr int kTimes = 3;
  for (int i = 0; i < kTimes; ++i) {
    unsigned *managed = nullptr, *pinned = nullptr;
    CHECK(cudaMallocManaged(&managed, kBytes));
    CHECK(cudaMallocHost(&pinned, 2 * kBytes));
    std::vector<char> pageable(3 * kBytes);
    CHECK(cudaHostRegister(pageable.data(), pageable.size(), cudaHostRegisterDefault));
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, 1024, kBytes / 1024 / sizeof(float)));
    CHECK(cudaFreeArray(array));
    CHECK(cudaHostUnregister(pageable.data()));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
  }
  known("allocation managed", kTimes, kTimes * kBytes);
  known("allocation host", kTimes, kTimes * 2 * kBytes);
  known("allocation host_register", kTimes, kTimes * 3 * kBytes);
  known("allocation array", kTimes, kTimes * kBytes);
}

/// Stream-ordered allocations, from the device's pool and from one of our own.
void pools() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  if (supported == 0) throw NotHere("there are no memory pools here");
  cudaMemPool_t pool;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  constexpr int kTimes = 6;
  for (int i = 0; i < kTimes; ++i) {
    unsigned *first = nullptr, *second = nullptr;
    CHECK(cudaMallocAsync(&first, kBytes, nullptr));
    CHECK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&second), kBytes, pool, nullptr));
    launch(first, 1, nullptr);
    launch(second, 1, nullptr);
    CHECK(cudaFreeAsync(first, nullptr));
    CHECK(cudaFreeAsync(second, nullptr));
  }
  CHECK(cudaDeviceSynchronize());
  std::uint64_t threshold = 3 * kBytes;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CHECK(cudaDeviceSetMemPool(0, pool));
  for (int i = 0; i < 2; ++i) CHECK(cudaMemPoolTrimTo(pool, kBytes));
  CHECK(cudaMemPoolDestroy(pool));
  known("allocation alloc_async", kTimes, kTimes * kBytes);
  known("allocation pool", kTimes, kTimes * kBytes);
  known("access argument", kTimes, 0, "api=pool");
  known("pool_operation create", 1);
  known("pool_operation set_attribute", 1, 0, "value=" + std::to_string(3 * kBytes));
  known("pool_operation set_current", 1);
  known("pool_operation trim", 2, 0, "value=" + std::to_string(kBytes));
  known("pool_operation destroy", 1);
}

/// Streams of both priorities, each with kernels of its own.
void streams() {
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  unsigned* device = nullptr;
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMemset(device, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  constexpr int kKernels = 4;
  for (const int priority : {least, greatest}) {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
    for (int i = 0; i < kKernels; ++i) launch(device, 1, stream);
    CHECK(cudaStreamSynchronize(stream));
  }
  unsigned word = 0;
  CHECK(cudaMemcpy(&word, device, sizeof word, cudaMemcpyDeviceToHost));
  expect(word == 2 * kKernels, "sum of both streams");
  known("stream priorities", least == greatest ? 1 : 2);
  known("kernel", 2 * kKernels);
}

/// Copies between two GPUs.
void peers() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  if (count < 2) throw NotHere("there is one GPU");
  unsigned* memory[2] = {};
  for (const int device : {0, 1}) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(&memory[device], kBytes));
    CHECK(cudaMemset(memory[device], device, kBytes));
    int can = 0;
    CHECK(cudaDeviceCanAccessPeer(&can, device, 1 - device));
    if (can == 0) throw NotHere("the GPUs do not reach each other");
    CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
  }
  constexpr int kTimes = 4;
  for (int i = 0; i < kTimes; ++i) CHECK(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, kBytes, nullptr));
  CHECK(cudaDeviceSynchronize());
  known("memcpy peer", kTimes, kTimes * kBytes);
  known("memcpy peer", kTimes, kTimes * kBytes, "source_device=0 destination_device=1");
  known("memcpy peer", kTimes, kTimes * kBytes,
        "source_address=" + at(memory[0]) + " destination_address=" + at(memory[1]));
}

int run(const std::string& name) {
  const std::map<std::string, void (*)()> kinds = {{"copies", copies},
                                                   {"graphs", graphs},
                                                   {"memory", memory},
                                                   {"pools", pools},
                                                   {"streams", streams},
                                                   {"peers", peers},
                                                   {"managed", managed},
                                                   {"faults", faults},
                                                   {"prefetched", prefetched},
                                                   {"remote", remote},
                                                   {"thrashing", thrashing},
                                                   {"sync", sync},
                                                   {"nvtx", nvtx},
                                                   {"api", api},
                                                   {"virtual", virtual_memory}};
  const auto kind = kinds.find(name);
  if (kind == kinds.end()) {
    std::fprintf(stderr, "usage: tferry-sample-kinds");
    for (const auto& [known, ignored] : kinds) std::fprintf(stderr, " %s", known.c_str());
    std::fprintf(stderr, " (one of them)\n");
    return 2;
  }
  try {
    kind->second();
    std::printf("answer ok\n");
    return 0;
  } catch (const NotHere& reason) {
    std::printf("skipped: %s\n", reason.what());
    return kNotHere;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tferry-sample-kinds: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace kinds

int main(int argc, char** argv) { return kinds::run(argc == 2 ? argv[1] : ""); }
