#include "benchmarks/experiments/driver.hpp"

namespace tferry::experiments {
namespace {

std::string describe(const std::string& call, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return call + ": " + (name ? name : "unknown error") + " (" + (text ? text : "no text") + ")";
}

}  // namespace

DriverError::DriverError(const std::string& call, CUresult error)
    : std::runtime_error(describe(call, error)), result(error) {}

void use_device() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  TFERRY_CU(cuInit(0));
  TFERRY_CU(cuDeviceGet(&device, 0));
  TFERRY_CU(cuDevicePrimaryCtxRetain(&context, device));
  TFERRY_CU(cuCtxSetCurrent(context));
}

std::size_t free_device_bytes() {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  TFERRY_CU(cuMemGetInfo(&free_bytes, &total));
  return free_bytes;
}

Stream::Stream() { TFERRY_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING)); }
Stream::~Stream() { cuStreamDestroy(stream_); }

Event::Event(bool timing) {
  TFERRY_CU(cuEventCreate(&event_, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING));
}
Event::~Event() { cuEventDestroy(event_); }

double elapsed_ms(const Event& from, const Event& to) {
  float ms = 0;
  TFERRY_CU(cuEventElapsedTime(&ms, from.get(), to.get()));
  return static_cast<double>(ms);
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) { TFERRY_CU(cuMemAlloc(&address_, bytes)); }
DeviceBuffer::~DeviceBuffer() { cuMemFree(address_); }

}  // namespace tferry::experiments
