// tferry-sample-kinds: waits, NVTX, calls that hold a thread up, and memory that the program maps itself.
#include "kinds.cuh"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include <unistd.h>
#include <vector>

namespace kinds {
namespace {

/// A function of the driver, which no program should link to.
template <typename Function>
Function* driver_call(const char* name, Function*) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &answer));
  if (found == nullptr || answer != cudaDriverEntryPointSuccess) throw NotHere(std::string("no ") + name);
  return reinterpret_cast<Function*>(found);
}
#define DRIVER(name) driver_call(#name, &name)

void check_driver(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS)
    throw std::runtime_error(std::string(what) + ": error " + std::to_string(static_cast<int>(result)));
}
#define CHECK_DRIVER(call) check_driver((call), #call)

}  // namespace

/// Waits of every kind. The stream is told from others by its priority.
void sync() {
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  unsigned* device = nullptr;
  CHECK(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int i = 0; i < 3; ++i) {
    launch(device, 1, stream);
    CHECK(cudaStreamSynchronize(stream));
  }
  for (int i = 0; i < 2; ++i) {
    launch(device, 1, nullptr);
    CHECK(cudaEventRecord(done, nullptr));
    CHECK(cudaEventSynchronize(done));
    CHECK(cudaStreamWaitEvent(stream, done, 0));
  }
  for (int i = 0; i < 4; ++i) {
    launch(device, 1, stream);
    CHECK(cudaDeviceSynchronize());
  }
  const std::string here = "priority=" + std::to_string(greatest);
  known("sync stream", 3, 0, here);
  // The runtime below may wait for events and for the device, too.
  known_at_least("sync event", 2);
  known_at_least("sync stream_wait_event", 2);
  known_at_least("sync context", 4);
}

/// Ranges and marks, in a domain and in none.
void nvtx() {
  CHECK(cudaFree(nullptr));  // the driver loads what records them
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("tferry.kinds");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  for (int i = 0; i < 4; ++i) {
    attributes.message.ascii = "outer";
    nvtxDomainRangePushEx(domain, &attributes);
    attributes.message.ascii = "inner";
    nvtxDomainRangePushEx(domain, &attributes);
    CHECK(cudaDeviceSynchronize());
    nvtxDomainRangePop(domain);
    nvtxDomainRangePop(domain);
  }
  attributes.message.ascii = "across";
  const nvtxRangeId_t across = nvtxDomainRangeStartEx(domain, &attributes);
  attributes.message.ascii = "point";
  for (int i = 0; i < 3; ++i) nvtxDomainMarkEx(domain, &attributes);
  nvtxDomainRangeEnd(domain, across);
  nvtxRangePushA("plain");
  nvtxRangePop();
  nvtxMarkA("plain point");
  known("marker range", 4, 0, "domain=tferry.kinds name=outer");
  known("marker range", 4, 0, "domain=tferry.kinds name=inner");
  known("marker range", 1, 0, "domain=tferry.kinds name=across");
  known("marker instant", 3, 0, "domain=tferry.kinds name=point");
  known("marker range", 1, 0, "name=plain");
  known("marker range", 0, 0, "domain=tferry.kinds name=plain");
}

/// Calls that can hold a thread up, one of which fails.
void api() {
  constexpr int kTimes = 3;
  unsigned* device = nullptr;
  CHECK(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < kTimes; ++i) {
    std::vector<char> pageable(kBytes);
    CHECK(cudaHostRegister(pageable.data(), pageable.size(), cudaHostRegisterDefault));
    launch(device, 1, stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaHostUnregister(pageable.data()));
  }
  std::vector<char> never(4096);
  expect(cudaHostUnregister(never.data()) != cudaSuccess,
         "memory that was never registered was unregistered");
  cudaGetLastError();
  const std::string here = "thread=" + std::to_string(gettid());
  known("api_call cuMemHostRegister_v2", kTimes, 0, "result=0 " + here);
  known("api_call cuMemHostUnregister", kTimes, 0, "result=0 " + here);
  known("api_call cuMemHostUnregister", 1, 0,
        "result=" + std::to_string(static_cast<int>(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)) + " " + here);
  known_at_least("api_call cuStreamSynchronize", kTimes, 0, "result=0 " + here);
}

/// Memory that the program makes and maps itself, with kernels on it.
void virtual_memory() {
  CHECK(cudaFree(nullptr));
  int supported = 0;
  CHECK(DRIVER(cuDeviceGetAttribute)(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                     0) == CUDA_SUCCESS
            ? cudaSuccess
            : cudaErrorUnknown);
  if (supported == 0) throw NotHere("the driver maps no memory for programs here");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  constexpr int kTimes = 3;
  for (int i = 0; i < kTimes; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    CHECK_DRIVER(DRIVER(cuMemCreate)(&handle, kBytes, &properties, 0));
    CHECK_DRIVER(DRIVER(cuMemAddressReserve)(&address, kBytes, 0, 0, 0));
    CHECK_DRIVER(DRIVER(cuMemMap)(address, kBytes, 0, handle, 0));
    CHECK_DRIVER(DRIVER(cuMemSetAccess)(address, kBytes, &access, 1));
    auto* words = reinterpret_cast<unsigned*>(address);
    CHECK(cudaMemset(words, 0, kBytes));
    launch(words, 4, nullptr);
    launch(words, 5, nullptr);
    unsigned word = 0;
    CHECK(cudaMemcpy(&word, words + 7, sizeof word, cudaMemcpyDeviceToHost));
    expect(word == 9, "word in mapped memory");
    CHECK_DRIVER(DRIVER(cuMemUnmap)(address, kBytes));
    CHECK_DRIVER(DRIVER(cuMemAddressFree)(address, kBytes));
    CHECK_DRIVER(DRIVER(cuMemRelease)(handle));
  }
  known("allocation virtual", kTimes, kTimes * kBytes);
  known("access argument", 2 * kTimes, 0, "api=virtual");
}

}  // namespace kinds
