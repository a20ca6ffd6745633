#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tferry::collector {

// The collector: lives inside the job, turns CUPTI's activity records into a spool.
//
//   CUPTI --buffers--> BufferPool --> ActivityWriter (decode.hpp) --> trace::SpoolWriter -->
//   spool.PID.collector.N
//          ^                ^
//          |                PeriodicThread: plain flush every 200 ms, decodes what came, forced flush at the
//          end ActivitySession: which kinds, in which order, what to say when CUPTI refuses
//
// library.cpp ties them to InitializeInjection, which the driver calls for the library that
// CUDA_INJECTION64_PATH names.

/// Every CUPTI activity call that the collector makes, so that tests put another one in its place. Results
/// are CUPTI's own. No call throws. Threads: as the CUPTI calls of the same names.
class CuptiApi {
 public:
  virtual ~CuptiApi() = default;

  /// 0 if it cannot tell.
  virtual std::uint32_t version() noexcept = 0;
  /// CUPTI's name of a result, such as "CUPTI_ERROR_NOT_READY".
  virtual const char* result_name(CUptiResult result) noexcept = 0;

  /// Makes this process's one CUPTI client ours. When another has it, `holder` becomes its name if CUPTI
  /// tells it.
  virtual CUptiResult subscribe(CUpti_CallbackFunc callback, void* user, std::string& holder) noexcept = 0;
  virtual CUptiResult enable_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept = 0;
  virtual CUptiResult set_system_thread_ids() noexcept = 0;
  virtual CUptiResult register_timestamp(CUpti_TimestampCallbackFunc now) noexcept = 0;
  virtual CUptiResult timestamp(std::uint64_t* now) noexcept = 0;
  virtual CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc request,
                                       CUpti_BuffersCallbackCompleteFunc complete) noexcept = 0;
  virtual CUptiResult enable(CUpti_ActivityKind kind) noexcept = 0;
  virtual CUptiResult disable(CUpti_ActivityKind kind) noexcept = 0;
  /// Records of one driver call, by CUpti_driver_api_trace_cbid.
  virtual CUptiResult enable_driver_call(CUpti_CallbackId id, bool on) noexcept = 0;
  /// CUPTI's name of a call, such as "cuMemAlloc_v2"; null if it knows none.
  virtual const char* callback_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept = 0;
  /// All unified-memory counters of a device.
  virtual CUptiResult configure_unified_memory(std::uint32_t device) noexcept = 0;
  virtual CUptiResult flush(bool forced) noexcept = 0;
  virtual CUptiResult next_record(std::uint8_t* buffer, std::size_t valid,
                                  CUpti_Activity** record) noexcept = 0;
  /// Records that CUPTI dropped since the last call.
  virtual CUptiResult dropped_records(std::size_t* count) noexcept = 0;
  virtual CUptiResult context_id(CUcontext context, std::uint32_t* id) noexcept = 0;
  virtual CUptiResult device_id(CUcontext context, std::uint32_t* id) noexcept = 0;
  virtual CUptiResult stream_id(CUcontext context, CUstream stream, std::uint32_t* id) noexcept = 0;
};

}  // namespace tferry::collector
