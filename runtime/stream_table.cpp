#include "runtime/stream_table.hpp"

#include <algorithm>

namespace tferry::runtime {
namespace {

constexpr std::size_t kTrimAbove = 32;  ///< recorded events of a stream before the oldest are asked after

/// A per-thread default stream has one handle for all threads; a distinct key per thread keeps their counts
/// apart.
CUstream per_thread_key() {
  thread_local char key;
  return reinterpret_cast<CUstream>(&key);
}

}  // namespace

StreamIndex StreamTable::find(CUstream stream, bool per_thread) {
  CUstream key = stream;
  CUstream real = stream;
  if (stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread)) {
    key = per_thread_key();
    real = CU_STREAM_PER_THREAD;
  } else if (stream == nullptr) {
    key = real = CU_STREAM_LEGACY;
  }
  CUcontext context = nullptr;
  driver_.cuCtxGetCurrent(&context);
  if (key == CU_STREAM_LEGACY && context != nullptr) {
    // Each context has a legacy stream of its own.
    key = reinterpret_cast<CUstream>(reinterpret_cast<char*>(context) + 1);
  }
  const auto found = by_handle_.find(key);
  if (found != by_handle_.end()) return found->second;
  if (real != CU_STREAM_LEGACY && real != CU_STREAM_PER_THREAD && driver_.cuStreamGetCtx != nullptr) {
    driver_.cuStreamGetCtx(real, &context);
  }
  const StreamIndex index = add(real, context, false);
  by_handle_.emplace(key, index);
  for (StreamIndex other = 0; other < states_.size(); ++other) {
    const State& state = *states_[other];
    if (other != index && !state.internal && !state.retired && state.queued > 0) wait(index, tail(other));
  }
  return index;
}

StreamIndex StreamTable::add_internal(CUstream stream, CUcontext context) {
  return add(stream, context, true);
}

StreamIndex StreamTable::add(CUstream stream, CUcontext context, bool internal) {
  if (!internal) ++program_streams_;
  for (StreamIndex index = 0; index < states_.size(); ++index) {
    State& old = *states_[index];
    if (old.retired && old.internal == internal && old.context == context && done({index, old.queued})) {
      old.handle = stream;
      old.retired = false;
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
  record(state);
  state.retired = true;
  --program_streams_;
  by_handle_.erase(found);
}

void StreamTable::forget_context(CUcontext context) {
  for (auto entry = by_handle_.begin(); entry != by_handle_.end();) {
    entry = states_[entry->second]->context == context ? by_handle_.erase(entry) : std::next(entry);
  }
  for (auto& state : states_) {
    if (state->context != context || (state->retired && state->recorded.empty())) continue;
    if (!state->internal && !state->retired) --program_streams_;
    state->completed = state->queued;  // a context's end ends its work
    state->recorded.clear();
    state->retired = true;
    state->handle = nullptr;
    state->context = nullptr;
  }
  spare_events_.erase(context);
}

Moment StreamTable::stamp(StreamIndex stream) { return {stream, ++states_[stream]->queued}; }

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
  if (recorded == nullptr) return false;
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
  if (recorded == nullptr) return;
  const Sequence sequence = recorded->sequence;
  if (driver_.cuEventSynchronize(recorded->event) == CUDA_SUCCESS)
    state.completed = std::max(state.completed, sequence);
  trim(state);
}

void StreamTable::mark_every(StreamIndex stream, Sequence interval) {
  State& state = *states_[stream];
  const Sequence last = state.recorded.empty() ? state.completed : state.recorded.back().sequence;
  if (state.queued >= last + interval) record(state);
}

void StreamTable::mark(StreamIndex stream) {
  State& state = *states_[stream];
  if (state.recorded.empty() || state.recorded.back().sequence < state.queued) record(state);
}

std::vector<CUstream> StreamTable::program_handles(CUcontext context) const {
  std::vector<CUstream> handles;
  for (const auto& state : states_) {
    if (!state->internal && !state->retired && state->context == context) handles.push_back(state->handle);
  }
  return handles;
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
