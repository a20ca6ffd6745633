#include "runtime/stream_table.hpp"

#include "runtime/capture_guard.hpp"

#include <algorithm>
#include <atomic>

namespace tferry::runtime {
namespace {

constexpr std::size_t kTrimAbove = 32;  ///< recorded events of a stream before the oldest are asked after

/// A per-thread default stream has one handle for all threads; a distinct key per thread keeps their counts
/// apart. Keys are odd numbers, which no handle is, and never used again, as addresses of thread-local
/// storage would be.
CUstream per_thread_key() {
  static std::atomic<std::uintptr_t> next{3};
  thread_local const std::uintptr_t key = next.fetch_add(2, std::memory_order_relaxed);
  return reinterpret_cast<CUstream>(key);
}

}  // namespace

StreamIndex StreamTable::find(CUstream stream, bool per_thread, bool capturing) {
  CUstream key = stream;
  CUstream real = stream;
  CUcontext context = nullptr;
  driver_.cuCtxGetCurrent(&context);
  const bool of_thread = stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread);
  if (of_thread) {
    key = per_thread_key();
    real = CU_STREAM_PER_THREAD;
  } else if (stream == nullptr || stream == CU_STREAM_LEGACY) {
    real = CU_STREAM_LEGACY;
    // Each context has a legacy stream of its own.
    key = context != nullptr ? reinterpret_cast<CUstream>(reinterpret_cast<char*>(context) + 1) : real;
  }
  const auto found = by_handle_.find(key);
  StreamIndex index = 0;
  if (found != by_handle_.end()) {
    index = found->second;
  } else {
    if (real != CU_STREAM_LEGACY && real != CU_STREAM_PER_THREAD && driver_.cuStreamGetCtx != nullptr) {
      driver_.cuStreamGetCtx(real, &context);
    }
    index = add(real, context, false);
    states_[index]->per_thread = of_thread;
    by_handle_.emplace(key, index);
  }
  State& state = *states_[index];
  if (state.used || capturing) return index;
  state.used = true;
  ++program_streams_;
  for (StreamIndex other = 0; other < states_.size(); ++other) {
    if (other != index && !states_[other]->internal) wait(index, tail(other));
  }
  return index;
}

void StreamTable::introduce(CUstream stream) {
  CUcontext context = nullptr;
  driver_.cuCtxGetCurrent(&context);
  if (driver_.cuStreamGetCtx != nullptr) driver_.cuStreamGetCtx(stream, &context);
  by_handle_.insert_or_assign(stream, add(stream, context, false));
}

StreamIndex StreamTable::add_internal(CUstream stream, CUcontext context) {
  return add(stream, context, true);
}

StreamIndex StreamTable::add(CUstream stream, CUcontext context, bool internal) {
  for (StreamIndex index = 0; index < states_.size(); ++index) {
    State& old = *states_[index];
    const bool of_context = old.context == context || old.context == nullptr;
    if (old.retired && old.internal == internal && of_context && done({index, old.queued})) {
      old.handle = stream;
      old.context = context;
      old.retired = old.used = old.per_thread = false;
      std::fill(old.waited.begin(), old.waited.end(), 0);
      return index;
    }
  }
  auto state = std::make_unique<State>();
  state->handle = stream;
  state->context = context;
  state->internal = internal;
  states_.push_back(std::move(state));
  return static_cast<StreamIndex>(states_.size() - 1);
}

void StreamTable::retire(CUstream stream) {
  const auto found = by_handle_.find(stream);
  if (found == by_handle_.end()) return;
  State& state = *states_[found->second];
  mark(found->second);
  state.retired = true;
  if (state.used) --program_streams_;
  by_handle_.erase(found);
}

void StreamTable::forget_context(CUcontext context) {
  for (auto entry = by_handle_.begin(); entry != by_handle_.end();) {
    entry = states_[entry->second]->context == context ? by_handle_.erase(entry) : std::next(entry);
  }
  for (auto& state : states_) {
    if (state->context != context || (state->retired && state->recorded.empty())) continue;
    if (state->used && !state->retired) --program_streams_;
    state->used = false;
    state->completed = state->queued;  // a context's end ends its work
    state->recorded.clear();
    state->retired = true;
    state->handle = nullptr;
    state->context = nullptr;
  }
  spare_events_.erase(context);
}

Moment StreamTable::stamp(StreamIndex stream) {
  State& state = *states_[stream];
  const Moment moment{stream, ++state.queued};
  if (state.per_thread) mark(stream);
  return moment;
}

void StreamTable::add_tails(Moments& moments) {
  for (StreamIndex index = 0; index < states_.size(); ++index) {
    const State& state = *states_[index];
    if (!state.internal && state.queued > state.completed) moments.add(tail(index));
  }
}

bool StreamTable::wait(StreamIndex waiter, const Moments& moments) {
  bool submitted = false;
  for (const Moment& moment : moments) submitted |= wait(waiter, moment);
  return submitted;
}

bool StreamTable::wait(StreamIndex waiter, Moment moment) {
  if (waiter == moment.stream) return false;
  State& target = *states_[moment.stream];
  if (moment.sequence <= target.completed) return false;
  State& state = *states_[waiter];
  if (state.waited.size() <= moment.stream) state.waited.resize(states_.size(), 0);
  if (state.waited[moment.stream] >= moment.sequence) return false;
  const Recorded* recorded = event_at(target, moment.sequence);
  if (recorded == nullptr) {
    drain(target);
    return true;
  }
  if (driver_.cuStreamWaitEvent(state.handle, recorded->event, 0) != CUDA_SUCCESS) {
    wait_on_host(moment);
    return true;
  }
  state.waited[moment.stream] = recorded->sequence;
  return true;
}

bool StreamTable::done(Moment moment) {
  State& state = *states_[moment.stream];
  if (moment.sequence <= state.completed) return true;
  const Recorded* recorded = event_at(state, moment.sequence);
  if (recorded == nullptr) return false;
  if (driver_.cuEventQuery(recorded->event) != CUDA_SUCCESS) return false;
  state.completed = std::max(state.completed, recorded->sequence);
  trim(state);
  return true;
}

void StreamTable::wait_on_host(Moment moment) {
  State& state = *states_[moment.stream];
  if (moment.sequence <= state.completed) return;
  const Recorded* recorded = event_at(state, moment.sequence);
  if (recorded == nullptr || driver_.cuEventSynchronize(recorded->event) != CUDA_SUCCESS) return drain(state);
  state.completed = std::max(state.completed, recorded->sequence);
  trim(state);
}

std::int64_t StreamTable::wait_on_host(const Moments& moments) {
  std::int64_t waits = 0;
  for (const Moment& moment : moments) {
    if (done(moment)) continue;
    wait_on_host(moment);
    ++waits;
  }
  return waits;
}

bool StreamTable::reusable(const Moments& moments) {
  const bool single = program_streams_ <= 1;
  return std::all_of(moments.begin(), moments.end(),
                     [&](Moment moment) { return (single && !retired(moment.stream)) || done(moment); });
}

/// Waits for all that is queued on the stream, without an event.
void StreamTable::drain(State& state) {
  const Sequence queued = state.queued;
  if (state.retired || driver_.cuStreamSynchronize(state.handle) != CUDA_SUCCESS) {
    // A destroyed stream was marked or drained then. On a live one a second failure means that the context
    // is lost, and with it the work.
    if (!state.retired && driver_.cuStreamSynchronize(state.handle) != CUDA_SUCCESS) return;
  }
  state.completed = std::max(state.completed, queued);
  trim(state);
}

void StreamTable::mark_every(StreamIndex stream, Sequence interval) {
  State& state = *states_[stream];
  const Sequence last = state.recorded.empty() ? state.completed : state.recorded.back().sequence;
  if (state.queued >= last + interval) mark(stream);
}

void StreamTable::mark_for_reuse(const Moments& moments, Sequence interval) {
  if (program_streams_ <= 1 || g_capturing.load(std::memory_order_relaxed) > 0) return;
  for (const Moment& moment : moments) {
    if (!states_[moment.stream]->internal && !states_[moment.stream]->retired)
      mark_every(moment.stream, interval);
  }
}

void StreamTable::mark(StreamIndex stream) {
  State& state = *states_[stream];
  const Sequence last = state.recorded.empty() ? state.completed : state.recorded.back().sequence;
  if (last < state.queued && !record(state)) drain(state);
}

void StreamTable::mark_all() {
  for (StreamIndex index = 0; index < states_.size(); ++index) {
    if (!states_[index]->internal && !states_[index]->retired) mark(index);
  }
}

bool StreamTable::record_all(CUcontext context, std::vector<CUevent>& events) {
  for (StreamIndex index = 0; index < states_.size(); ++index) {
    const State& state = *states_[index];
    if (state.internal || state.context != context) continue;
    if (state.retired) {
      if (!done(tail(index))) return false;
      continue;
    }
    if (state.handle == CU_STREAM_LEGACY || state.per_thread) continue;
    CUevent event = take_event(context);
    if (event == nullptr) return false;
    events.push_back(event);
    if (driver_.cuEventRecord(event, state.handle) != CUDA_SUCCESS) return false;
  }
  return true;
}

void StreamTable::give_back(CUcontext context, std::span<const CUevent> events) {
  auto& spare = spare_events_[context];
  spare.insert(spare.end(), events.begin(), events.end());
}

/// The first event recorded at or after the operation; recorded now when there is none.
const StreamTable::Recorded* StreamTable::event_at(State& state, Sequence sequence) {
  const auto first = std::lower_bound(state.recorded.begin(), state.recorded.end(), sequence,
                                      [](const Recorded& r, Sequence s) { return r.sequence < s; });
  if (first != state.recorded.end()) return &*first;
  if (state.retired || !record(state)) return nullptr;
  return &state.recorded.back();
}

bool StreamTable::record(State& state) {
  if (state.recorded.size() > kTrimAbove) {
    if (driver_.cuEventQuery(state.recorded.front().event) == CUDA_SUCCESS) {
      state.completed = std::max(state.completed, state.recorded.front().sequence);
    }
    trim(state);
  }
  CUevent event = take_event(state.context);
  if (event == nullptr) return false;
  if (driver_.cuEventRecord(event, state.handle) != CUDA_SUCCESS) {
    spare_events_[state.context].push_back(event);
    return false;
  }
  state.recorded.push_back({state.queued, event});
  return true;
}

void StreamTable::trim(State& state) {
  while (!state.recorded.empty() && state.recorded.front().sequence <= state.completed) {
    spare_events_[state.context].push_back(state.recorded.front().event);
    state.recorded.pop_front();
  }
}

CUevent StreamTable::take_event(CUcontext context) {
  std::vector<CUevent>& spare = spare_events_[context];
  if (!spare.empty()) {
    CUevent event = spare.back();
    spare.pop_back();
    return event;
  }
  CUevent event = nullptr;
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  const bool elsewhere = context != nullptr && current != context;
  if (elsewhere) driver_.cuCtxPushCurrent_v2(context);
  if (driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) event = nullptr;
  if (elsewhere) driver_.cuCtxPopCurrent_v2(&current);
  return event;
}

}  // namespace tferry::runtime
