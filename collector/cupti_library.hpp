#pragma once

#include "collector/cupti_api.hpp"

namespace tferry::collector {

/// The libcupti that the process has loaded.
class CuptiLibrary final : public CuptiApi {
 public:
  std::uint32_t version() noexcept override;
  const char* result_name(CUptiResult result) noexcept override;
  CUptiResult subscribe(CUpti_CallbackFunc callback, void* user, std::string& holder) noexcept override;
  CUptiResult enable_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept override;
  CUptiResult set_system_thread_ids() noexcept override;
  CUptiResult register_timestamp(CUpti_TimestampCallbackFunc now) noexcept override;
  CUptiResult timestamp(std::uint64_t* now) noexcept override;
  CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete) noexcept override;
  CUptiResult enable(CUpti_ActivityKind kind) noexcept override;
  CUptiResult disable(CUpti_ActivityKind kind) noexcept override;
  CUptiResult enable_driver_call(CUpti_CallbackId id, bool on) noexcept override;
  const char* callback_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept override;
  CUptiResult configure_unified_memory(std::uint32_t device) noexcept override;
  CUptiResult flush(bool forced) noexcept override;
  CUptiResult next_record(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) noexcept override;
  CUptiResult dropped_records(std::size_t* count) noexcept override;
  CUptiResult context_id(CUcontext context, std::uint32_t* id) noexcept override;
  CUptiResult device_id(CUcontext context, std::uint32_t* id) noexcept override;
  CUptiResult stream_id(CUcontext context, CUstream stream, std::uint32_t* id) noexcept override;

 private:
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace tferry::collector
