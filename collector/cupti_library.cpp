#include "collector/cupti_library.hpp"

// Newer than 13.0 in some copies of libcupti.so.13: null where the loaded one lacks it, because a library
// with an unresolved symbol is dropped by the driver without a word.
#pragma weak cuptiSubscribe_v2
#pragma weak cuptiActivityEnableDriverApi

namespace tferry::collector {

std::uint32_t CuptiLibrary::version() noexcept {
  std::uint32_t version = 0;
  return cuptiGetVersion(&version) == CUPTI_SUCCESS ? version : 0;
}

const char* CuptiLibrary::result_name(CUptiResult result) noexcept {
  const char* name = nullptr;
  return cuptiGetResultString(result, &name) == CUPTI_SUCCESS && name != nullptr ? name
                                                                                 : "unknown CUPTI error";
}

CUptiResult CuptiLibrary::subscribe(CUpti_CallbackFunc callback, void* user, std::string& holder) noexcept {
  if (&cuptiSubscribe_v2 == nullptr) return cuptiSubscribe(&subscriber_, callback, user);
  char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = {};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "Tensorferry";
  parameters.oldSubscriberName = name;
  parameters.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN;
  const CUptiResult result = cuptiSubscribe_v2(&subscriber_, callback, user, &parameters);
  if (result != CUPTI_SUCCESS) holder = name;
  return result;
}

CUptiResult CuptiLibrary::enable_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept {
  return cuptiEnableCallback(1, subscriber_, domain, id);
}

CUptiResult CuptiLibrary::set_system_thread_ids() noexcept {
  return cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

CUptiResult CuptiLibrary::register_timestamp(CUpti_TimestampCallbackFunc now) noexcept {
  return cuptiActivityRegisterTimestampCallback(now);
}

CUptiResult CuptiLibrary::timestamp(std::uint64_t* now) noexcept { return cuptiGetTimestamp(now); }

CUptiResult CuptiLibrary::register_buffers(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) noexcept {
  return cuptiActivityRegisterCallbacks(request, complete);
}

CUptiResult CuptiLibrary::enable(CUpti_ActivityKind kind) noexcept { return cuptiActivityEnable(kind); }

CUptiResult CuptiLibrary::disable(CUpti_ActivityKind kind) noexcept { return cuptiActivityDisable(kind); }

CUptiResult CuptiLibrary::enable_driver_call(CUpti_CallbackId id, bool on) noexcept {
  if (&cuptiActivityEnableDriverApi == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  return cuptiActivityEnableDriverApi(id, on ? 1 : 0);
}

const char* CuptiLibrary::callback_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept {
  const char* name = nullptr;
  return cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS ? name : nullptr;
}

CUptiResult CuptiLibrary::configure_unified_memory(std::uint32_t device) noexcept {
  constexpr int kKinds = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT - 1;
  CUpti_ActivityUnifiedMemoryCounterConfig configuration[kKinds] = {};
  for (int i = 0; i < kKinds; ++i) {
    configuration[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
    configuration[i].kind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(i + 1);
    configuration[i].deviceId = device;
    configuration[i].enable = 1;
  }
  return cuptiActivityConfigureUnifiedMemoryCounter(configuration, kKinds);
}

CUptiResult CuptiLibrary::flush(bool forced) noexcept {
  return cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

CUptiResult CuptiLibrary::next_record(std::uint8_t* buffer, std::size_t valid,
                                      CUpti_Activity** record) noexcept {
  return cuptiActivityGetNextRecord(buffer, valid, record);
}

CUptiResult CuptiLibrary::dropped_records(std::size_t* count) noexcept {
  return cuptiActivityGetNumDroppedRecords(nullptr, 0, count);
}

CUptiResult CuptiLibrary::context_id(CUcontext context, std::uint32_t* id) noexcept {
  return cuptiGetContextId(context, id);
}

CUptiResult CuptiLibrary::device_id(CUcontext context, std::uint32_t* id) noexcept {
  return cuptiGetDeviceId(context, id);
}

CUptiResult CuptiLibrary::stream_id(CUcontext context, CUstream stream, std::uint32_t* id) noexcept {
  return cuptiGetStreamIdEx(context, stream, 0, id);
}

}  // namespace tferry::collector
