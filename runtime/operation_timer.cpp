#include "runtime/operation_timer.hpp"

#include "runtime/capture_guard.hpp"
#include "runtime/status_page.hpp"

#include <algorithm>
#include <utility>

namespace tferry::runtime {

void OperationTimer::begin(Operation& operation) {
  operation.timing = nullptr;
  if (stopped_ || operation.capturing || operation.signature == 0 ||
      on_their_way_.size() >= kMostOnTheirWay || g_capturing.load(std::memory_order_relaxed) > 0)
    return;
  CUcontext context = nullptr;
  if (driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr || !open(context)) return;
  CUevent event = take_event();
  if (event == nullptr) return;
  if (driver_.cuEventRecord(event, streams_.handle(operation.stream)) == CUDA_SUCCESS) {
    operation.timing = event;
  } else {
    spare_.push_back(event);
  }
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
  CUevent begin = std::exchange(operation.timing, nullptr);
  if (begin != nullptr) {
    CUevent end = submitted ? take_event() : nullptr;
    CUstream stream = streams_.handle(operation.stream);
    if (end != nullptr && driver_.cuEventRecord(end, stream) == CUDA_SUCCESS) {
      if (told_.insert(stream).second) recorder_.activity_stream(stream, device, operation.stream + 1);
      Timed timed{begin, end, operation.details, {}};
      timed.details.accesses.clear();
      timed.times.correlation = static_cast<std::uint32_t>(recorder_.next_operation());
      timed.times.stream = operation.stream + 1;
      timed.times.device = device;
      on_their_way_.push_back(std::move(timed));
    } else {
      spare_.push_back(begin);
      if (end != nullptr) spare_.push_back(end);
    }
  }
  read();
}

void OperationTimer::read() {
  // In the order of submission: one that has not passed holds up those behind it, on other streams too, for
  // as long as it takes.
  while (!on_their_way_.empty() && driver_.cuEventQuery(on_their_way_.front().end) == CUDA_SUCCESS) {
    const Timed timed = std::move(on_their_way_.front());
    on_their_way_.pop_front();
    read(timed);
    if (timed.begin != reference_) spare_.push_back(timed.begin);
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
