#include "collector/activity_session.hpp"

#include "collector/loss.hpp"
#include "collector/process_identity.hpp"
#include "trace/unified_memory_sign.hpp"

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace tferry::collector {
namespace {

using trace::LossReason;
using trace::RecordKind;
using trace::SpoolWriter;
using RangeKind = trace::RangeRequest::Kind;

std::int64_t realtime_minus_monotonic_ns() {
  timespec realtime{};
  clock_gettime(CLOCK_REALTIME, &realtime);
  return std::int64_t{realtime.tv_sec} * 1'000'000'000 + realtime.tv_nsec - SpoolWriter::now_ns();
}

std::string kind_text(CUpti_ActivityKind kind) {
  const RecordKind record = record_kind_of(kind);
  const std::string name(trace::record_kind_name(record));
  return name + " records (activity kind " + std::to_string(static_cast<int>(kind)) + ")";
}

constexpr std::int64_t kNever = 1'000'000LL * 1'000'000'000;

template <typename Handle>
std::uint64_t number(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

}  // namespace

std::atomic<ActivitySession*> ActivitySession::current_ = nullptr;

ActivitySession::ActivitySession(CuptiApi& cupti, SpoolWriter& spool, DeviceLookup& devices,
                                 const Config& config)
    : cupti_(cupti),
      spool_(spool),
      devices_(devices),
      config_(config),
      pid_(getpid()),
      pool_(config.buffers, config.ready_buffers),
      writer_(spool, devices),
      range_timer_(
          [this](PeriodicThread::Cause cause) {
            if (cause == PeriodicThread::Cause::kInterval) on_range_timer();
          },
          std::max<std::int64_t>(1'000'000, config.range.start_ns)),
      thread_([this](PeriodicThread::Cause cause) { cycle(cause); }, config.flush_interval_ns) {
  writer_.set_names(cupti);
  if (config_.range.kind == RangeKind::kNvtx) nvtx_.emplace(config_.range.name, config_.range.domain);
}

ActivitySession::~ActivitySession() {
  ActivitySession* self = this;
  current_.compare_exchange_strong(self, nullptr);
}

bool ActivitySession::in_child() const { return getpid() != pid_; }

bool ActivitySession::succeeded(CUptiResult result, RecordKind kind, std::string_view what) {
  if (result == CUPTI_SUCCESS) return true;
  append_loss(spool_, kind, explain(result).reason, -1,
              refusal_text(what, cupti_.result_name(result), result));
  return false;
}

bool ActivitySession::start() {
  spool_.append(process_record(spool_, devices_.driver_version()));
  if (!config_.error.empty()) {
    append_loss(spool_, RecordKind::kNone, LossReason::kUnsupported, -1, config_.error);
  }
  current_.store(this, std::memory_order_release);

  // First of all whose CUPTI is: another client's clock, buffers and kinds are not to be touched.
  std::string holder;
  const CUptiResult result = cupti_.subscribe(on_callback, this, holder);
  if (result != CUPTI_SUCCESS) {
    append_loss(spool_, RecordKind::kKernelActivity, explain(result).reason, -1,
                refusal_text("to record", cupti_.result_name(result), result, holder));
    spool_.flush();
    return false;
  }
  const bool ready = set_clock() && succeeded(cupti_.register_buffers(request_buffer, complete_buffer),
                                              RecordKind::kKernelActivity, "buffers for its records");
  if (!ready) {
    spool_.flush();
    return false;
  }
  succeeded(cupti_.set_system_thread_ids(), RecordKind::kNone, "thread ids of the system");
  if (!thread_.start()) {
    append_loss(spool_, RecordKind::kKernelActivity, LossReason::kUnsupported, -1,
                "The system refused a thread to read CUPTI's records: nothing is recorded");
    spool_.flush();
    return false;
  }
  active_ = true;
  enable_structure();
  if (config_.range.kind == RangeKind::kAll) {
    want_recording(true);
  } else {
    enable_range_callbacks();
  }
  spool_.flush();
  return true;
}

bool ActivitySession::set_clock() {
  if (cupti_.register_timestamp(now) == CUPTI_SUCCESS) return true;
  std::uint64_t cupti_now = 0;
  const std::int64_t before = SpoolWriter::now_ns();
  if (!succeeded(cupti_.timestamp(&cupti_now), RecordKind::kKernelActivity, "to tell its clock"))
    return false;
  const std::int64_t after = SpoolWriter::now_ns();
  const std::int64_t middle = before + (after - before) / 2;
  writer_.set_time_base({middle - static_cast<std::int64_t>(cupti_now)});
  append_loss(spool_, RecordKind::kNone, LossReason::kUnsupported, 0,
              "CUPTI refused the host clock: times were converted by an offset measured at the start (" +
                  std::to_string(realtime_minus_monotonic_ns()) + " ns from real to monotonic time)");
  return true;
}

void ActivitySession::enable_structure() {
  for (const CUpti_ActivityKind kind : config_.kinds) {
    if (is_structure(kind)) succeeded(cupti_.enable(kind), record_kind_of(kind), kind_text(kind));
  }
  succeeded(cupti_.enable_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED),
            RecordKind::kContext, "to tell of new contexts");
  succeeded(cupti_.enable_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED),
            RecordKind::kStream, "to tell of new streams");
}

void ActivitySession::enable_range_callbacks() {
  const auto enable = [this](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    succeeded(cupti_.enable_callback(domain, id), RecordKind::kRange,
              "to tell of the range " + config_.range.text);
  };
  switch (config_.range.kind) {
    case RangeKind::kAll:
      break;
    case RangeKind::kProfilerApi:
      enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
      enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
      break;
    case RangeKind::kNvtx:
      for (const CUpti_CallbackId id : NvtxRanges::calls()) enable(CUPTI_CB_DOMAIN_NVTX, id);
      break;
    case RangeKind::kIterations:
      iterations_.emplace(config_.range.first, config_.range.last);
      if (!iterations_->open(config_.run_directory)) {
        iterations_.reset();
        append_loss(spool_, RecordKind::kRange, LossReason::kUnsupported, -1,
                    "The range " + config_.range.text +
                        " needs the preloaded runtime, which is not in this process: nothing is recorded");
        break;
      }
      [[fallthrough]];
    case RangeKind::kTime:
      if (!range_timer_.start()) {
        append_loss(
            spool_, RecordKind::kRange, LossReason::kUnsupported, -1,
            "The system refused a thread to time the range " + config_.range.text + ": nothing is recorded");
      }
      break;
  }
}

void ActivitySession::want_recording(bool on) {
  if (ranges_over_.load(std::memory_order_acquire)) return;
  wanted_.store(on, std::memory_order_release);
  // Whoever comes while another thread is at it leaves it to that one: no lock is held over a CUPTI call.
  const auto wanted = [this] { return wanted_ && !ranges_over_; };
  do {
    if (changing_.exchange(true, std::memory_order_acq_rel)) return;
    for (bool now_wanted = wanted(); now_wanted != recording_; now_wanted = wanted()) {
      record_operations(now_wanted);
    }
    changing_.store(false, std::memory_order_release);
  } while (wanted() != recording_);
}

void ActivitySession::record_operations(bool on) {
  if (on) note_range(true);
  for (const CUpti_ActivityKind kind : config_.kinds) {
    if (is_structure(kind)) continue;
    const CUptiResult result = on ? cupti_.enable(kind) : cupti_.disable(kind);
    if (on && range_.number == 0) succeeded(result, record_kind_of(kind), kind_text(kind));
  }
  if (unified_memory_ready_) {
    constexpr auto kKind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    const CUptiResult result = on ? cupti_.enable(kKind) : cupti_.disable(kKind);
    if (on && range_.number == 0) succeeded(result, RecordKind::kUmEvent, kind_text(kKind));
  }
  if (config_.blocking_calls) {
    bool refused = false;
    for (const CUpti_CallbackId id : blocking_driver_calls()) {
      const CUptiResult result = cupti_.enable_driver_call(id, on);
      if (result == CUPTI_SUCCESS || refused || !on || range_.number > 0) continue;
      refused = !succeeded(result, RecordKind::kApiCall, "records of the driver's calls");
    }
  }
  recording_ = on;
  if (!on) note_range(false);
}

void ActivitySession::note_range(bool opened) {
  if (config_.range.kind == RangeKind::kAll) return;
  if (opened) {
    range_.time_ns = SpoolWriter::now_ns();
    range_.end_ns = 0;
    range_.what = spool_.intern(config_.range.text);
    return;
  }
  range_.end_ns = SpoolWriter::now_ns();
  spool_.append(range_);
  ++range_.number;
  if (config_.stop_after_range) ranges_over_.store(true, std::memory_order_release);
}

void ActivitySession::on_range_timer() {
  if (in_child()) return;
  if (iterations_) return watch_iterations();
  want_recording(!timer_began_);
  range_timer_.set_interval(timer_began_ ? kNever : config_.range.duration_ns);
  timer_began_ = true;
}

void ActivitySession::watch_iterations() {
  const IterationRange::State state = iterations_->update();
  want_recording(state == IterationRange::State::kInside);
  range_timer_.set_interval(state == IterationRange::State::kAfter ? kNever : iterations_->interval_ns());
}

void ActivitySession::on_profiler_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (config_.range.kind != RangeKind::kProfilerApi || call.callbackSite != CUPTI_API_ENTER) return;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart) want_recording(true);
  if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) want_recording(false);
}

void ActivitySession::on_nvtx(CUpti_CallbackId id, const CUpti_NvtxData& call) {
  if (!nvtx_) return;
  const NvtxRanges::Change change = nvtx_->on_call(id, call);
  if (change != NvtxRanges::Change::kNone) want_recording(change == NvtxRanges::Change::kOpened);
}

std::uint64_t ActivitySession::now() { return static_cast<std::uint64_t>(SpoolWriter::now_ns()); }

void ActivitySession::request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  ActivitySession* self = current_.load(std::memory_order_acquire);
  *max_records = 0;
  *buffer = self == nullptr || self->in_child() ? nullptr : self->pool_.acquire();
  *size = *buffer == nullptr ? 0 : BufferPool::kBufferBytes;
}

void ActivitySession::complete_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                      std::size_t valid) {
  ActivitySession* self = current_.load(std::memory_order_acquire);
  if (self == nullptr || buffer == nullptr || self->in_child()) return;
  self->pool_.complete(buffer, valid);
  if (valid > 0) self->thread_.wake();
}

void ActivitySession::on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                  const void* data) {
  auto* session = static_cast<ActivitySession*>(self);
  if (data == nullptr || session->in_child()) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    return session->on_profiler_call(id, *static_cast<const CUpti_CallbackData*>(data));
  }
  if (domain == CUPTI_CB_DOMAIN_NVTX) return session->on_nvtx(id, *static_cast<const CUpti_NvtxData*>(data));
  if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
  const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) session->on_context(resource);
  if (id == CUPTI_CBID_RESOURCE_STREAM_CREATED) session->on_stream(resource);
}

void ActivitySession::on_context(const CUpti_ResourceData& resource) {
  std::uint32_t context = 0, device = 0;
  if (cupti_.context_id(resource.context, &context) != CUPTI_SUCCESS) return;
  if (cupti_.device_id(resource.context, &device) != CUPTI_SUCCESS) return;
  writer_.note_context(number(resource.context), context, static_cast<std::int32_t>(device));
  if (config_.unified_memory) enable_unified_memory(device);
}

void ActivitySession::on_stream(const CUpti_ResourceData& resource) {
  const CUstream stream = resource.resourceHandle.stream;
  std::uint32_t context = 0, device = 0, id = 0;
  if (stream == nullptr || cupti_.context_id(resource.context, &context) != CUPTI_SUCCESS) return;
  if (cupti_.stream_id(resource.context, stream, &id) != CUPTI_SUCCESS) return;
  if (cupti_.device_id(resource.context, &device) != CUPTI_SUCCESS) return;
  writer_.note_stream(number(stream), context, id, static_cast<std::int32_t>(device));
}

void ActivitySession::enable_unified_memory(std::uint32_t device) {
  bool first;
  {
    const std::lock_guard lock(unified_memory_mutex_);
    first = unified_memory_devices_.empty();
    if (!unified_memory_devices_.insert(device).second) return;
  }
  const bool configured = succeeded(cupti_.configure_unified_memory(device), RecordKind::kUmEvent,
                                    "unified-memory counters of device " + std::to_string(device));
  if (!configured || !first) return;
  unified_memory_ready_ = true;
  if (!wanted_) return;
  const bool enabled = succeeded(cupti_.enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER),
                                 RecordKind::kUmEvent, kind_text(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
  if (!enabled || config_.run_directory.empty()) return;
  const int sign = open(trace::unified_memory_sign(config_.run_directory, pid_).c_str(),
                        O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (sign >= 0) close(sign);
}

void ActivitySession::cycle(PeriodicThread::Cause cause) {
  if (in_child()) return;
  const bool last = cause == PeriodicThread::Cause::kLast;
  if (cause != PeriodicThread::Cause::kWoken && !flush_refused_) {
    flush_refused_ = !succeeded(cupti_.flush(last), RecordKind::kNone, "to give its records back");
  }
  decode_completed();
  if (cause == PeriodicThread::Cause::kWoken) return;
  check_dropped();
  if (last) {
    if (recording_ && config_.range.kind != RangeKind::kAll) spool_.append(range_);
    writer_.finish();
    tell_losses();
  }
  spool_.flush();
}

void ActivitySession::decode_completed() {
  trace::OverheadRecord own;
  const std::int64_t before = writer_.written();
  own.time_ns = SpoolWriter::now_ns();
  while (const auto completed = pool_.next_completed()) {
    decode(*completed);
    pool_.release(completed->buffer);
  }
  if (writer_.written() == before) return;
  own.end_ns = SpoolWriter::now_ns();
  own.what = spool_.intern("tferry decoding");
  own.thread = static_cast<std::uint32_t>(gettid());
  spool_.append(own);
}

void ActivitySession::decode(const BufferPool::Completed& completed) {
  CUpti_Activity* activity = nullptr;
  for (;;) {
    const CUptiResult result = cupti_.next_record(completed.buffer, completed.valid, &activity);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return;
    if (result != CUPTI_SUCCESS || activity == nullptr) {
      ++damaged_buffers_;
      return;
    }
    writer_.write(*activity);
  }
}

void ActivitySession::check_dropped() {
  std::size_t dropped = 0;
  const CUptiResult result = cupti_.dropped_records(&dropped);
  if (result != CUPTI_SUCCESS) {
    if (dropped_unknown_) return;
    dropped_unknown_ = true;
    append_loss(spool_, RecordKind::kNone, LossReason::kCupti, -1,
                refusal_text("to tell how many records it dropped", cupti_.result_name(result), result));
  } else if (dropped > 0) {
    append_loss(spool_, RecordKind::kNone, LossReason::kCupti, static_cast<std::int64_t>(dropped),
                "Activity records that CUPTI dropped, of whatever kind");
  }
}

void ActivitySession::tell_losses() {
  if (pool_.declined() > 0) {
    append_loss(spool_, RecordKind::kNone, LossReason::kNoBuffer, -1,
                "CUPTI asked " + std::to_string(pool_.declined()) + " times for a buffer when all " +
                    std::to_string(pool_.size()) + " were in use");
  }
  if (damaged_buffers_ > 0) {
    append_loss(spool_, RecordKind::kNone, LossReason::kMalformed, -1,
                std::to_string(damaged_buffers_) + " buffers of CUPTI ended in a record that is none");
  }
  if (!iterations_) return;
  std::string told = iterations_->shifted();
  if (!iterations_->found()) {
    told = "No iterations were found (it takes three that follow each other): nothing was recorded of " +
           config_.range.text;
  }
  if (!told.empty()) append_loss(spool_, RecordKind::kRange, LossReason::kUnsupported, -1, told);
}

void ActivitySession::finish() {
  if (in_child() || finished_) return;
  finished_ = true;
  ranges_over_ = true;
  range_timer_.finish(config_.exit_timeout_ns);
  if (active_ && !thread_.finish(config_.exit_timeout_ns)) {
    append_loss(spool_, RecordKind::kNone, LossReason::kCupti, -1,
                "CUPTI did not give its last records back within " +
                    std::to_string(config_.exit_timeout_ns / 1'000'000) + " ms: the job ended without them");
  }
  spool_.close();
}

}  // namespace tferry::collector
