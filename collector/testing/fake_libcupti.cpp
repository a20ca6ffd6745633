// A libcupti.so.13 for tests of the injected library as a whole: it hands out buffers and gives them back as
// CUPTI does. A plain flush withholds a buffer with an unfinished record, a forced one does not. Kernels are
// recorded when the test program calls fake_cupti_launch; in a process that runs on the software driver,
// contexts are told and unified memory is recorded as that driver shows it (tests/software_driver/pages.hpp),
// unless FAKE_CUPTI_UNIFIED_MEMORY has the number of another answer.
#include "tests/software_driver/pages.hpp"

#include <cupti.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace {

std::mutex mutex;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
CUpti_TimestampCallbackFunc now = nullptr;
bool kernels_enabled = false;
bool unified_memory_enabled = false;
bool observing = false;
CUpti_CallbackFunc callback = nullptr;
void* callback_user = nullptr;
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

template <typename Record>
bool append(const Record& record) {
  if (buffer != nullptr && used + sizeof record > buffer_size) give_back();
  if (buffer == nullptr) {
    std::size_t max_records = 0;
    request(&buffer, &buffer_size, &max_records);
  }
  if (buffer == nullptr) {
    ++dropped;
    return false;
  }
  std::memcpy(buffer + used, &record, sizeof record);
  used += sizeof record;
  return true;
}

void on_context(void* context, int) {
  CUpti_ResourceData resource{};
  resource.context = static_cast<CUcontext>(context);
  if (callback != nullptr)
    callback(callback_user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &resource);
}

void on_page_event(const SwdPageEvent* event) {
  const std::lock_guard lock(mutex);
  if (!unified_memory_enabled) return;
  CUpti_ActivityUnifiedMemoryCounter3 counter{};
  counter.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  counter.start = static_cast<std::uint64_t>(event->time_ns);
  counter.end = counter.start + 1;
  counter.address = event->address;
  counter.value = event->bytes;
  const auto device = static_cast<std::uint32_t>(event->device);
  if (event->kind == SwdPageEvent::kFault) {
    counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
    counter.value = 1;
    counter.srcId = device;
    counter.flags = event->write != 0 ? CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE
                                      : CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ;
  } else {
    const bool to_host = event->kind == SwdPageEvent::kToHost;
    counter.counterKind = to_host ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH
                                  : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
    counter.srcId = to_host ? device : CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;
    counter.dstId = to_host ? CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID : device;
    counter.flags = event->prefetch != 0 ? CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER
                                         : CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE;
  }
  append(counter);
}

/// False in a process without the software driver.
bool observe_driver() {
  static constexpr SwdObserver kObserver{on_context, on_page_event};
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  const auto observe = reinterpret_cast<decltype(&swd_observe)>(dlsym(driver, "swd_observe"));
  if (observe != nullptr) observe(&kObserver);
  return observe != nullptr;
}

void record_kernel(bool finished) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = finished ? "finished" : "running";
  kernel.start = now();
  kernel.end = finished ? kernel.start + 1000 : 0;
  kernel.contextId = 1;
  kernel.streamId = 7;
  kernel.correlationId = ++correlation;
  if (append(kernel) && !finished) unfinished = true;
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
CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc function, void* user) {
  callback = function;
  callback_user = user;
  observing = observe_driver();
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
  if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) unified_memory_enabled = true;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kernels_enabled = false;
  if (kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) unified_memory_enabled = false;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, const char** name) {
  *name = "call";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*,
                                                                uint32_t) {
  return observing ? from_environment("FAKE_CUPTI_UNIFIED_MEMORY") : CUPTI_ERROR_NOT_SUPPORTED;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  while (flag != 0 && std::getenv("FAKE_CUPTI_HANG") != nullptr) pause();
  const std::lock_guard lock(mutex);
  if (flag != 0 || !unfinished) give_back();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* data, size_t valid, CUpti_Activity** record) {
  auto* at = static_cast<std::uint8_t*>(static_cast<void*>(*record));
  const auto size_at = [](const std::uint8_t* place) {
    CUpti_ActivityKind kind{};
    std::memcpy(&kind, place, sizeof kind);
    return kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER ? sizeof(CUpti_ActivityUnifiedMemoryCounter3)
                                                              : sizeof(CUpti_ActivityKernel10);
  };
  at = at == nullptr ? data : at + size_at(at);
  if (at + sizeof(CUpti_ActivityKind) > data + valid || at + size_at(at) > data + valid)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = static_cast<CUpti_Activity*>(static_cast<void*>(at));
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) {
  const std::lock_guard lock(mutex);
  *count = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetContextId(CUcontext, uint32_t* id) {
  *id = 1;
  return observing ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}
CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext, uint32_t* id) {
  *id = 0;
  return observing ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}
CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext, CUstream, uint8_t, uint32_t*) {
  return CUPTI_ERROR_INVALID_CONTEXT;
}
/// Ends the process loudly: crashes in here are what kineto#686 is about.
CUptiResult CUPTIAPI cuptiFinalize() { std::abort(); }

}  // extern "C"
