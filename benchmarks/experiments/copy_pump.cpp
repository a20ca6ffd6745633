#include "benchmarks/experiments/copy_pump.hpp"

#include <cstdio>
#include <cstring>

namespace tferry::experiments {

PumpBuffers::PumpBuffers() {
  void* host = nullptr;
  TFERRY_CU(cuMemHostAlloc(&host, kBytes, CU_MEMHOSTALLOC_PORTABLE));
  host_ = static_cast<std::byte*>(host);
  std::memset(host_, 1, kBytes);
}
PumpBuffers::~PumpBuffers() { cuMemFreeHost(host_); }

CopyPump::CopyPump(Direction direction, std::size_t piece_bytes)
    : direction_(direction), piece_bytes_(piece_bytes), thread_([this] { run(); }) {}

CopyPump::~CopyPump() {
  state_ = State::kStopping;
  thread_.join();
}

void CopyPump::pause() {
  auto running = State::kRunning;
  if (!state_.compare_exchange_strong(running, State::kPauseAsked)) return;
  while (state_ == State::kPauseAsked) {
  }
}

void CopyPump::resume() {
  auto paused = State::kPaused;
  state_.compare_exchange_strong(paused, State::kRunning);
}

void CopyPump::wait_while_paused() {
  stream_.synchronize();
  auto asked = State::kPauseAsked;
  state_.compare_exchange_strong(asked, State::kPaused);
  while (state_ == State::kPaused) {
  }
}

void CopyPump::run() {
  try {
    use_device();
    Event done[kAhead];
    std::size_t offset = 0;
    for (std::size_t piece = 0; state_ != State::kStopping; ++piece) {
      if (state_ == State::kPauseAsked) wait_while_paused();
      const Event& event = done[piece % kAhead];
      if (piece >= kAhead) event.synchronize();
      if (offset + piece_bytes_ > PumpBuffers::kBytes) offset = 0;
      if (direction_ == Direction::kHostToDevice) {
        TFERRY_CU(cuMemcpyHtoDAsync(buffers_.device() + offset, buffers_.host() + offset, piece_bytes_,
                                    stream_.get()));
      } else {
        TFERRY_CU(cuMemcpyDtoHAsync(buffers_.host() + offset, buffers_.device() + offset, piece_bytes_,
                                    stream_.get()));
      }
      event.record(stream_);
      bytes_ += piece_bytes_;
      offset += piece_bytes_;
    }
    stream_.synchronize();
  } catch (const std::exception& error) {
    std::printf("copy pump: %s\n", error.what());
    state_ = State::kStopping;
  }
}

}  // namespace tferry::experiments
