#pragma once

#include "collector/cupti_library.hpp"
#include "collector/device_lookup.hpp"
#include "collector/testing/record_builder.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tferry::collector {

/// A CUPTI for tests: answers what it is told to, calls back with records made by hand, and writes down what
/// was asked of it, in order. Buffers are read by the real library.
class FakeCupti final : public CuptiApi {
 public:
  std::vector<std::string> calls;
  std::map<std::string, CUptiResult> answers;  ///< by call, such as "enable 10"; else success
  std::string holder_name;
  std::size_t dropped = 0;
  std::atomic<int> flushes_begun = 0;
  /// Given back by the next plain and the next forced flush.
  std::vector<RecordBuilder> on_flush, on_forced_flush;

  CUpti_CallbackFunc callback = nullptr;
  void* callback_user = nullptr;
  CUpti_TimestampCallbackFunc clock = nullptr;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;

  std::uint32_t version() noexcept override { return 130001; }
  const char* result_name(CUptiResult result) noexcept override { return library_.result_name(result); }
  CUptiResult subscribe(CUpti_CallbackFunc function, void* user, std::string& holder) noexcept override {
    callback = function;
    callback_user = user;
    const CUptiResult result = answer("subscribe");
    if (result != CUPTI_SUCCESS) holder = holder_name;
    return result;
  }
  CUptiResult enable_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept override {
    return answer("enable_callback " + std::to_string(domain) + "/" + std::to_string(id));
  }
  CUptiResult set_system_thread_ids() noexcept override { return answer("set_system_thread_ids"); }
  CUptiResult register_timestamp(CUpti_TimestampCallbackFunc now) noexcept override {
    clock = now;
    return answer("register_timestamp");
  }
  CUptiResult timestamp(std::uint64_t* now) noexcept override {
    *now = 1'000'000'000'000'000'000;
    return answer("timestamp");
  }
  CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc ask,
                               CUpti_BuffersCallbackCompleteFunc take) noexcept override {
    request = ask;
    complete = take;
    return answer("register_buffers");
  }
  CUptiResult enable(CUpti_ActivityKind kind) noexcept override {
    return answer("enable " + std::to_string(kind));
  }
  CUptiResult disable(CUpti_ActivityKind kind) noexcept override {
    return answer("disable " + std::to_string(kind));
  }
  CUptiResult enable_driver_call(CUpti_CallbackId id, bool on) noexcept override {
    return answer((on ? "enable_driver_call " : "disable_driver_call ") + std::to_string(id));
  }
  const char* callback_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept override {
    return library_.callback_name(domain, id);
  }
  CUptiResult configure_unified_memory(std::uint32_t which) noexcept override {
    return answer("configure_unified_memory " + std::to_string(which));
  }
  CUptiResult flush(bool forced) noexcept override {
    ++flushes_begun;
    {
      std::unique_lock lock(mutex_);
      released_.wait(lock, [&] { return !hold_flush_; });
    }
    for (RecordBuilder& records : std::exchange(forced ? on_forced_flush : on_flush, {})) give(records);
    if (forced) {
      for (RecordBuilder& records : std::exchange(on_flush, {})) give(records);
    }
    return answer(forced ? "flush forced" : "flush");
  }
  CUptiResult next_record(std::uint8_t* buffer, std::size_t valid,
                          CUpti_Activity** record) noexcept override {
    return library_.next_record(buffer, valid, record);
  }
  CUptiResult dropped_records(std::size_t* count) noexcept override {
    const CUptiResult result = answer("dropped_records");
    if (result == CUPTI_SUCCESS) *count = std::exchange(dropped, 0);
    return result;
  }
  CUptiResult context_id(CUcontext, std::uint32_t* id) noexcept override {
    *id = 1;
    return answer("context_id");
  }
  CUptiResult device_id(CUcontext, std::uint32_t* id) noexcept override {
    *id = device;
    return answer("device_id");
  }
  CUptiResult stream_id(CUcontext, CUstream, std::uint32_t* id) noexcept override {
    *id = 13;
    return answer("stream_id");
  }
  std::uint32_t device = 0;

  /// As CUPTI's worker does: asks for a buffer, fills it, gives it back. False if it was declined.
  bool give(RecordBuilder& records) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, max_records = 1;
    request(&buffer, &size, &max_records);
    if (buffer == nullptr) return false;
    std::memcpy(buffer, records.data(), records.size());
    complete(nullptr, 0, buffer, size, records.size());
    return true;
  }

  /// From now on flushes do not return until released.
  void hold_flush(bool hold) {
    const std::lock_guard lock(mutex_);
    hold_flush_ = hold;
    released_.notify_all();
  }
  bool called(const std::string& call) {
    const std::lock_guard lock(mutex_);
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  }

 private:
  CUptiResult answer(const std::string& call) {
    const std::lock_guard lock(mutex_);
    calls.push_back(call);
    const auto place = answers.find(call);
    return place == answers.end() ? CUPTI_SUCCESS : place->second;
  }

  CuptiLibrary library_;
  std::mutex mutex_;
  std::condition_variable released_;
  bool hold_flush_ = false;
};

/// Knows no card.
class NoDevices final : public DeviceLookup {
 public:
  int driver_version() noexcept override { return 13000; }
  bool complete(trace::DeviceRecord&) noexcept override { return false; }
};

}  // namespace tferry::collector
