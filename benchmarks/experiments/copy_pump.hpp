#pragma once

#include "benchmarks/experiments/driver.hpp"

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <thread>

namespace tferry::experiments {

enum class Direction { kHostToDevice, kDeviceToHost };

/// A 256 MiB pinned and a 256 MiB device buffer, which a CopyPump runs over in circles.
class PumpBuffers {
 public:
  PumpBuffers();
  ~PumpBuffers();
  PumpBuffers(const PumpBuffers&) = delete;
  PumpBuffers& operator=(const PumpBuffers&) = delete;
  static constexpr std::size_t kBytes = 256 * kMiB;
  std::byte* host() const { return host_; }
  CUdeviceptr device() const { return device_.get(); }

 private:
  std::byte* host_ = nullptr;
  DeviceBuffer device_{kBytes};
};

/// A thread that keeps a copy engine busy with pieces of one size, never more than `kAhead` queued.
/// pause() and resume() stop it between pieces; both, and bytes(), may be called from one other thread. Both
/// sides spin: what is measured with them is shorter than a thread's wake-up.
class CopyPump {
 public:
  static constexpr int kAhead = 2;

  CopyPump(Direction direction, std::size_t piece_bytes);
  /// Stops, waits for what is queued, joins.
  ~CopyPump();
  CopyPump(const CopyPump&) = delete;
  CopyPump& operator=(const CopyPump&) = delete;

  /// Bytes whose copy has been queued so far.
  std::size_t bytes() const { return bytes_; }
  /// Returns once no further piece will be queued and the queued ones are done.
  void pause();
  void resume();

 private:
  enum class State { kRunning, kPauseAsked, kPaused, kStopping };

  void run();
  void wait_while_paused();

  Direction direction_;
  std::size_t piece_bytes_;
  PumpBuffers buffers_;
  Stream stream_;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<State> state_{State::kRunning};
  std::thread thread_;
};

}  // namespace tferry::experiments
