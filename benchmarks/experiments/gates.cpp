// Gates for gates.py: a stream of the program is made to wait for a copy of ours, in the ways that a runtime
// might. Loaded into Python; every function returns a CUresult, 0 for success.
#include <cuda.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace {

enum class Mode : int {
  kNothing = 0,
  kEventDone = 1,       // an event whose copy ended long ago
  kEventSubmitted = 2,  // the copy is queued now, the stream waits for its event
  kEventTwoAhead = 3,   // the same, but the launching thread waits until at most two copies are queued
  kValueDone = 4,       // a word in device memory that has its value already
  kValueSubmitted = 5,  // the copy and a write of the word are queued now
  kValueTwoAhead =
      6,  // a thread of ours queues copies and writes, at most two ahead; the launcher never waits
  kHostValueDone = 7,       // a word in pinned host memory that has its value already
  kEventSubmittedRoom = 8,  // as kEventSubmitted; the copy waits until the kRoom-th gate before was passed
  kEventTwoAheadRoom = 9,   // as kEventTwoAhead, with the same wait for room
};

#define RETURN_IF_FAILED(call)                                                 \
  do {                                                                         \
    if (const CUresult failed = (call); failed != CUDA_SUCCESS) return failed; \
  } while (false)

class Gates {
 public:
  static constexpr unsigned kEvents = 256;
  static constexpr unsigned kAhead = 2;
  static constexpr unsigned kRoom = 8;

  CUresult open(Mode mode, std::size_t bytes) {
    mode_ = mode;
    bytes_ = bytes;
    RETURN_IF_FAILED(cuCtxGetCurrent(&context_));
    RETURN_IF_FAILED(cuStreamCreate(&copies_, CU_STREAM_NON_BLOCKING));
    RETURN_IF_FAILED(cuMemHostAlloc(&host_, bytes, CU_MEMHOSTALLOC_PORTABLE));
    RETURN_IF_FAILED(cuMemAlloc(&device_, bytes));
    RETURN_IF_FAILED(cuMemAlloc(&word_, 4));
    RETURN_IF_FAILED(cuMemsetD32(word_, 0, 1));
    RETURN_IF_FAILED(cuMemHostAlloc(&host_word_, 4, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    *static_cast<volatile std::uint32_t*>(host_word_) = 0;
    RETURN_IF_FAILED(cuMemHostGetDevicePointer(&host_word_on_device_, host_word_, 0));
    for (auto* events : {&events_, &passed_}) {
      for (auto& event : *events) RETURN_IF_FAILED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    }
    RETURN_IF_FAILED(queue_copy(0));
    RETURN_IF_FAILED(cuStreamSynchronize(copies_));
    if (mode == Mode::kValueTwoAhead) engine_ = std::thread([this] { run_engine(); });
    return CUDA_SUCCESS;
  }

  CUresult gate(CUstream stream) {
    switch (mode_) {
      case Mode::kNothing:
        return CUDA_SUCCESS;
      case Mode::kEventDone:
        return cuStreamWaitEvent(stream, events_[0], 0);
      case Mode::kEventTwoAhead:
        if (count_ >= kAhead) RETURN_IF_FAILED(cuEventSynchronize(events_[(count_ + 1 - kAhead) % kEvents]));
        [[fallthrough]];
      case Mode::kEventSubmitted:
        ++count_;
        RETURN_IF_FAILED(queue_copy(count_));
        return cuStreamWaitEvent(stream, events_[count_ % kEvents], 0);
      case Mode::kEventTwoAheadRoom:
        if (count_ >= kAhead) RETURN_IF_FAILED(cuEventSynchronize(events_[(count_ + 1 - kAhead) % kEvents]));
        [[fallthrough]];
      case Mode::kEventSubmittedRoom:
        ++count_;
        if (count_ > kRoom)
          RETURN_IF_FAILED(cuStreamWaitEvent(copies_, passed_[(count_ - kRoom) % kEvents], 0));
        RETURN_IF_FAILED(queue_copy(count_));
        RETURN_IF_FAILED(cuStreamWaitEvent(stream, events_[count_ % kEvents], 0));
        return cuEventRecord(passed_[count_ % kEvents], stream);
      case Mode::kValueDone:
        return cuStreamWaitValue32(stream, word_, 0, CU_STREAM_WAIT_VALUE_GEQ);
      case Mode::kHostValueDone:
        return cuStreamWaitValue32(stream, host_word_on_device_, 0, CU_STREAM_WAIT_VALUE_GEQ);
      case Mode::kValueSubmitted:
        ++count_;
        RETURN_IF_FAILED(queue_copy(count_));
        RETURN_IF_FAILED(cuStreamWriteValue32(copies_, word_, count_, 0));
        return cuStreamWaitValue32(stream, word_, count_, CU_STREAM_WAIT_VALUE_GEQ);
      case Mode::kValueTwoAhead: {
        {
          const std::lock_guard lock(mutex_);
          ++count_;
        }
        wanted_.notify_one();
        if (const auto failed = engine_result_.load(); failed != CUDA_SUCCESS) return failed;
        return cuStreamWaitValue32(stream, word_, count_, CU_STREAM_WAIT_VALUE_GEQ);
      }
    }
    return CUDA_ERROR_INVALID_VALUE;
  }

  std::uint32_t count() const { return count_; }

  // The program's streams are idle.
  ~Gates() {
    if (engine_.joinable()) {
      {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
      }
      wanted_.notify_one();
      engine_.join();
    }
    cuStreamSynchronize(copies_);
    for (auto* events : {&events_, &passed_}) {
      for (auto& event : *events) cuEventDestroy(event);
    }
    cuMemFreeHost(host_word_);
    cuMemFree(word_);
    cuMemFree(device_);
    cuMemFreeHost(host_);
    cuStreamDestroy(copies_);
  }

 private:
  CUresult queue_copy(std::uint32_t number) {
    RETURN_IF_FAILED(cuMemcpyHtoDAsync(device_, host_, bytes_, copies_));
    return cuEventRecord(events_[number % kEvents], copies_);
  }

  CUresult engine_step(std::uint32_t number) {
    if (number > kAhead) RETURN_IF_FAILED(cuEventSynchronize(events_[(number - kAhead) % kEvents]));
    RETURN_IF_FAILED(queue_copy(number));
    return cuStreamWriteValue32(copies_, word_, number, 0);
  }

  void run_engine() {
    engine_result_ = cuCtxSetCurrent(context_);
    for (std::uint32_t done = 0;;) {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [&] { return stopping_ || count_ > done; });
      if (stopping_) return;
      lock.unlock();
      if (const auto result = engine_step(++done); result != CUDA_SUCCESS) engine_result_ = result;
    }
  }

  Mode mode_ = Mode::kNothing;
  std::size_t bytes_ = 0;
  CUcontext context_ = nullptr;
  CUstream copies_ = nullptr;
  void* host_ = nullptr;
  void* host_word_ = nullptr;
  CUdeviceptr device_ = 0;
  CUdeviceptr word_ = 0;
  CUdeviceptr host_word_on_device_ = 0;
  std::array<CUevent, kEvents> events_{};
  std::array<CUevent, kEvents> passed_{};
  std::uint32_t count_ = 0;
  std::mutex mutex_;
  std::condition_variable wanted_;
  bool stopping_ = false;
  std::atomic<CUresult> engine_result_{CUDA_SUCCESS};
  std::thread engine_;
};

std::unique_ptr<Gates> gates;

}  // namespace

extern "C" {

// Copies of `bytes` behind every gate; the caller's context is current.
int tferry_gates_open(int mode, std::uint64_t bytes) {
  gates = std::make_unique<Gates>();
  return gates->open(static_cast<Mode>(mode), bytes);
}

int tferry_gate(std::uint64_t stream) { return gates->gate(reinterpret_cast<CUstream>(stream)); }

std::uint32_t tferry_gates_count() { return gates ? gates->count() : 0; }

void tferry_gates_close() { gates.reset(); }
}
