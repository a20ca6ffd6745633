#include "runtime/operation_timer.hpp"

#include "runtime/capture_guard.hpp"
#include "runtime/status_page.hpp"

#include <algorithm>
#include <utility>

namespace tferry::runtime {

bool OperationTimer::can_time() {
  if (stopped_ || on_their_way_.size() >= kMostOnTheirWay || g_capturing.load(std::memory_order_relaxed) > 0)
    return false;
  CUcontext context = nullptr;
  return driver_.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr && open(context);
}

/// An event at the stream's tail; null where there is none to be had.
CUevent OperationTimer::record(CUstream stream) {
  CUevent event = take_event();
  if (event == nullptr || driver_.cuEventRecord(event, stream) == CUDA_SUCCESS) return event;
  spare_.push_back(event);
  return nullptr;
}

void OperationTimer::arrive(Operation& operation) {
  put_back(std::exchange(operation.arrival, nullptr));  // of one that was given up
  if (operation.capturing || operation.signature == 0 || !can_time()) return;
  operation.arrival = record(streams_.handle(operation.stream));
}

void OperationTimer::begin(Operation& operation) {
  operation.timing = nullptr;
  if (operation.capturing || operation.signature == 0 || !can_time()) return;
  operation.timing = record(streams_.handle(operation.stream));
}

/// Aligns the clocks in the first context. False in others, and where the driver refuses.
bool OperationTimer::open(CUcontext context) {
  if (context_ != nullptr) return context_ == context;
  if (driver_.cuEventElapsedTime_v2 == nullptr) return !(stopped_ = true);
  CUstream idle = nullptr;
  if (driver_.cuStreamCreate(&idle, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return !(stopped_ = true);
  reference_ = take_event();
  const bool aligned = reference_ != nullptr && driver_.cuEventRecord(reference_, idle) == CUDA_SUCCESS &&
                       driver_.cuEventSynchronize(reference_) == CUDA_SUCCESS;
  reference_ns_ = StatusPage::now_ns();
  driver_.cuStreamDestroy_v2(idle);
  if (!aligned) return !(stopped_ = true);
  context_ = context;
  return true;
}

CUevent OperationTimer::take_event() {
  CUevent event = nullptr;
  if (!spare_.empty()) {
    event = spare_.back();
    spare_.pop_back();
  } else if (driver_.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
    return nullptr;
  }
  return event;
}

void OperationTimer::end(Operation& operation, int device, bool submitted) {
  CUevent arrival = std::exchange(operation.arrival, nullptr);
  CUevent begin = std::exchange(operation.timing, nullptr);
  CUstream stream = streams_.handle(operation.stream);
  CUevent end = begin != nullptr && submitted ? record(stream) : nullptr;
  if (end != nullptr) {
    if (told_.insert(stream).second)
      recorder_.activity_stream(stream, device, operation.stream + 1, trace::StreamOwner::kProgram);
    Timed timed;
    if (operation.waited) timed.arrival = std::exchange(arrival, nullptr);
    timed.begin = begin;
    timed.end = end;
    timed.details = operation.details;
    timed.details.accesses.clear();
    timed.times.correlation = static_cast<std::uint32_t>(recorder_.next_operation());
    timed.times.stream = operation.stream + 1;
    timed.times.device = device;
    timed.fetched = operation.fetched;
    timed.parked = operation.parked;
    on_their_way_.push_back(std::move(timed));
  } else {
    put_back(begin);
  }
  put_back(arrival);
  read();
}

CUevent OperationTimer::begin_copy(CUstream stream) { return can_time() ? record(stream) : nullptr; }

void OperationTimer::end_copy(CUevent begin, CUstream stream, StreamIndex index, int device,
                              trace::CopyKind kind, std::int64_t bytes, std::int64_t submit_ns) {
  if (begin == nullptr) return;
  Timed timed;
  timed.begin = begin;
  timed.end = record(stream);
  if (timed.end == nullptr) return put_back(begin);
  if (told_.insert(stream).second)
    recorder_.activity_stream(stream, device, index + 1, trace::StreamOwner::kRuntime);
  timed.details.kind = OperationDetails::Kind::kCopy;
  timed.details.copy = kind;
  timed.details.bytes = bytes;
  timed.details.asynchronous = true;
  timed.details.begin_ns = submit_ns;
  timed.times.correlation = ++copies_;  // the order within its stream
  timed.times.stream = index + 1;
  timed.times.device = device;
  on_their_way_.push_back(std::move(timed));
}

void OperationTimer::read() {
  // In the order of submission: one that has not passed holds up those behind it, on other streams too, for
  // as long as it takes.
  while (!on_their_way_.empty() && driver_.cuEventQuery(on_their_way_.front().end) == CUDA_SUCCESS) {
    const Timed timed = std::move(on_their_way_.front());
    on_their_way_.pop_front();
    read(timed);
    if (timed.begin != reference_) spare_.push_back(timed.begin);
    put_back(timed.arrival);
    spare_.push_back(timed.end);
  }
}

bool OperationTimer::read(const Timed& timed) {
  std::int64_t since = 0;
  std::int64_t duration = 0;
  if (!elapsed(reference_, timed.begin, since) || !elapsed(timed.begin, timed.end, duration)) return false;
  // Nothing runs before it was asked for: where it seems so, the clocks have drifted apart.
  reference_ns_ = std::max(reference_ns_, timed.details.begin_ns - since);
  ActivityTimes times = timed.times;
  times.start_ns = reference_ns_ + since;
  times.end_ns = times.start_ns + duration;
  recorder_.activity(timed.details, times);
  std::int64_t waited = 0;
  if (timed.arrival != nullptr && elapsed(timed.arrival, timed.begin, waited) && waited >= kShortestWait)
    recorder_.gate(times.correlation, times.start_ns - waited, times.start_ns, times.device, timed.fetched,
                   timed.parked);
  if (since > kFarFromReference) {
    spare_.push_back(std::exchange(reference_, timed.begin));
    reference_ns_ += since;
  }
  return true;
}

bool OperationTimer::elapsed(CUevent from, CUevent to, std::int64_t& ns) const {
  float milliseconds = 0;
  if (driver_.cuEventElapsedTime_v2(&milliseconds, from, to) != CUDA_SUCCESS) return false;
  ns = static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  return true;
}

void OperationTimer::forget_context(CUcontext context) {
  if (context != context_) return;
  on_their_way_.clear();
  spare_.clear();
  told_.clear();
  context_ = nullptr;
  reference_ = nullptr;
}

}  // namespace tferry::runtime
