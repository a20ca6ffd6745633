#pragma once

#include "collector/activity_writer.hpp"
#include "collector/buffer_pool.hpp"
#include "collector/config.hpp"
#include "collector/cupti_api.hpp"
#include "collector/device_lookup.hpp"
#include "collector/iteration_range.hpp"
#include "collector/nvtx_ranges.hpp"
#include "collector/periodic_thread.hpp"
#include "trace/spool_writer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace tferry::collector {

/// Records one process by CUPTI from start to finish. Whatever CUPTI refuses becomes a loss record with the
/// code's name, and the job goes on.
///
/// Clock: CUPTI is given CLOCK_MONOTONIC as its timestamp callback, before anything is enabled, rather than
/// converting its own times afterwards: its clock is CLOCK_REALTIME, which steps and is slewed, and CUPTI
/// relates GPU times to host times by interpolating between readings of the host clock, so a step inside an
/// interval would bend the GPU's times as well. Only if CUPTI refuses the callback are times converted, by an
/// offset measured at the start.
///
/// What a SIGKILL costs: plain flushes every 200 ms withhold a buffer with an unfinished record, and the
/// spool is written right after each; so the last quarter second, or the time since the start of a kernel
/// that still runs. `finish` forces the rest out.
///
/// With a range, only structure (devices, contexts, streams) is recorded until it opens, and again from its
/// end; the kinds are enabled and disabled within the call that opens and closes it, so that the job waits
/// for nothing but these CUPTI calls, and a second range begins as the first did.
///
/// In a child after fork nothing here does anything: not CUPTI's callbacks, not finish.
///
/// CUPTI's callbacks carry no pointer, so there can be one session at a time. Threads: start and finish from
/// one; the callbacks from any.
class ActivitySession {
 public:
  ActivitySession(CuptiApi& cupti, trace::SpoolWriter& spool, DeviceLookup& devices, const Config& config);
  /// Ends the thread first; CUPTI must call no more (the library never gets here).
  ~ActivitySession();
  ActivitySession(const ActivitySession&) = delete;
  ActivitySession& operator=(const ActivitySession&) = delete;

  /// True if CUPTI records; otherwise the spool says why not.
  bool start();
  /// Forced flush, everything into the spool, spool closed. Returns within the configured time even if CUPTI
  /// does not; then the spool says so. Does nothing the second time, and in a forked child.
  void finish();

  bool active() const { return active_; }

 private:
  static void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records);
  static void CUPTIAPI complete_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                       std::size_t size, std::size_t valid);
  static void CUPTIAPI on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data);
  static std::uint64_t CUPTIAPI now();

  bool in_child() const;
  bool succeeded(CUptiResult result, trace::RecordKind kind, std::string_view what);
  bool set_clock();
  void enable_structure();
  void enable_range_callbacks();
  /// Operations are recorded from here on, or no more.
  void want_recording(bool on);
  void record_operations(bool on);
  void note_range(bool opened);
  void on_range_timer();
  void watch_iterations();
  void on_context(const CUpti_ResourceData& resource);
  void on_stream(const CUpti_ResourceData& resource);
  void enable_unified_memory(std::uint32_t device);
  void on_profiler_call(CUpti_CallbackId id, const CUpti_CallbackData& call);
  void on_nvtx(CUpti_CallbackId id, const CUpti_NvtxData& call);

  void cycle(PeriodicThread::Cause cause);
  void decode_completed();
  void decode(const BufferPool::Completed& completed);
  void check_dropped();
  void tell_losses();

  CuptiApi& cupti_;
  trace::SpoolWriter& spool_;
  DeviceLookup& devices_;
  const Config config_;
  const pid_t pid_;
  BufferPool pool_;
  ActivityWriter writer_;
  std::atomic<bool> active_ = false;
  bool finished_ = false;

  bool dropped_unknown_ = false;
  bool flush_refused_ = false;
  std::int64_t damaged_buffers_ = 0;
  std::mutex unified_memory_mutex_;
  std::set<std::uint32_t> unified_memory_devices_;
  std::atomic<bool> unified_memory_ready_ = false;

  std::atomic<bool> wanted_ = false;     ///< operations are to be recorded
  std::atomic<bool> changing_ = false;   ///< one thread is enabling or disabling kinds
  std::atomic<bool> recording_ = false;  ///< kinds are enabled
  trace::RangeRecord range_;             ///< of that thread: the open range
  std::atomic<bool> ranges_over_ = false;
  std::optional<NvtxRanges> nvtx_;
  std::optional<IterationRange> iterations_;  ///< of the range timer's thread, and of finish
  bool timer_began_ = false;
  PeriodicThread range_timer_;
  PeriodicThread thread_;

  static std::atomic<ActivitySession*> current_;
};

}  // namespace tferry::collector
