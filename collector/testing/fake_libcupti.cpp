// A libcupti.so.13 for tests of the injected library as a whole: it hands out buffers and gives them back as
// CUPTI does, with kernel records only. A plain flush withholds a buffer with an unfinished record, a forced
// one does not. The test program makes it record by fake_cupti_launch.
#include <cupti.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace {

std::mutex mutex;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
CUpti_TimestampCallbackFunc now = nullptr;
bool kernels_enabled = false;
std::uint8_t* buffer = nullptr;
std::size_t buffer_size = 0, used = 0;
bool unfinished = false;
std::size_t dropped = 0;
std::uint32_t correlation = 0;

CUptiResult from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? CUPTI_SUCCESS : static_cast<CUptiResult>(std::atoi(value));
}

void give_back() {
  if (buffer != nullptr) complete(nullptr, 0, buffer, buffer_size, used);
  buffer = nullptr;
  used = 0;
  unfinished = false;
}

void record_kernel(bool finished) {
  if (buffer != nullptr && used + sizeof(CUpti_ActivityKernel10) > buffer_size) give_back();
  if (buffer == nullptr) {
    std::size_t max_records = 0;
    request(&buffer, &buffer_size, &max_records);
  }
  if (buffer == nullptr) {
    ++dropped;
    return;
  }
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = finished ? "finished" : "running";
  kernel.start = now();
  kernel.end = finished ? kernel.start + 1000 : 0;
  kernel.contextId = 1;
  kernel.streamId = 7;
  kernel.correlationId = ++correlation;
  std::memcpy(buffer + used, &kernel, sizeof kernel);
  used += sizeof kernel;
  if (!finished) unfinished = true;
}

}  // namespace

extern "C" {

void fake_cupti_launch(int count) {
  const std::lock_guard lock(mutex);
  for (int i = 0; kernels_enabled && i < count; ++i) record_kernel(true);
}

void fake_cupti_launch_endless() {
  const std::lock_guard lock(mutex);
  if (kernels_enabled) record_kernel(false);
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  *version = 130001;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
              ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
              : "CUPTI_ERROR_OF_THE_FAKE";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) {
  return from_environment("FAKE_CUPTI_SUBSCRIBE");
}
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                         CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  now = function;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = now();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc ask,
                                                    CUpti_BuffersCallbackCompleteFunc give) {
  request = ask;
  complete = give;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kernels_enabled = true;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kernels_enabled = false;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, const char** name) {
  *name = "call";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*,
                                                                uint32_t) {
  return CUPTI_ERROR_NOT_SUPPORTED;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  while (flag != 0 && std::getenv("FAKE_CUPTI_HANG") != nullptr) pause();
  const std::lock_guard lock(mutex);
  if (flag != 0 || !unfinished) give_back();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* data, size_t valid, CUpti_Activity** record) {
  auto* at = static_cast<std::uint8_t*>(static_cast<void*>(*record));
  at = at == nullptr ? data : at + sizeof(CUpti_ActivityKernel10);
  if (at + sizeof(CUpti_ActivityKernel10) > data + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = static_cast<CUpti_Activity*>(static_cast<void*>(at));
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) {
  const std::lock_guard lock(mutex);
  *count = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetContextId(CUcontext, uint32_t*) { return CUPTI_ERROR_INVALID_CONTEXT; }
CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext, uint32_t*) { return CUPTI_ERROR_INVALID_CONTEXT; }
CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext, CUstream, uint8_t, uint32_t*) {
  return CUPTI_ERROR_INVALID_CONTEXT;
}
/// Ends the process loudly: crashes in here are what kineto#686 is about.
CUptiResult CUPTIAPI cuptiFinalize() { std::abort(); }

}  // extern "C"
