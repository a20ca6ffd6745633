#pragma once

#include "cuda/driver.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace tferry::runtime {

/// Pages of managed memory that lie side by side. `dead`: nobody wants what is in them. On their way to host
/// memory such pages are only discarded: the driver then takes them, without copying, when it needs memory.
/// To send them to the host would take as long as to copy them (docs/results/experiments.md).
struct ManagedRun {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  bool dead = false;
};

/// Moves managed memory of one device by prefetch calls, off the threads that launch kernels: the calls
/// themselves take most of the time of a transfer, those to host memory all of it (FACTS.md, "Managed
/// memory"): one thread to the device and one to the host, where several together are slower than one. To the
/// device transfers are made in the order in which they were handed over.
///
/// Any thread may call; nothing here takes the runtime's lock.
class ManagedMover {
 public:
  ManagedMover(const cuda::Driver& driver, CUdevice device, CUcontext context);
  /// Waits for what was handed over.
  ~ManagedMover();
  ManagedMover(const ManagedMover&) = delete;
  ManagedMover& operator=(const ManagedMover&) = delete;

  /// Makes streams and threads. False: the driver refused.
  bool open();

  /// A stream to gather waits in, and an event for what it has waited for by now: see `move_out`.
  CUstream relay() const { return relay_; }

  /// To host memory, behind everything submitted to `relay()` so far.
  void move_out(const std::vector<ManagedRun>& runs);
  /// To the device, once the first `after_out` bytes ever handed to move_out have been moved. Returns a
  /// ticket.
  std::uint64_t move_in(std::vector<ManagedRun> runs, std::uint64_t after_out);
  /// Waits until the transfers of the ticket are queued and makes `stream` wait for them.
  void gate(std::uint64_t ticket, CUstream stream);

  /// Waits until the first `bytes` ever handed to move_out have been moved or discarded.
  void wait_out(std::uint64_t bytes);

  std::uint64_t out_bytes() const { return out_bytes_; }  ///< ever handed to move_out; the caller's thread
  std::int64_t failures();                                ///< calls that the driver refused

 private:
  struct Task {
    std::vector<ManagedRun> runs;
    CUevent after = nullptr;      ///< of the relay stream
    std::uint64_t after_out = 0;  ///< bytes
    std::uint64_t ticket = 0;
  };
  void run_out();
  void run_in();
  bool enter();
  void prefetch(const ManagedRun& run, bool to_device, CUstream stream);
  CUevent take_event();
  void throttle(std::size_t bytes);

  const cuda::Driver& driver_;
  CUdevice device_;
  CUcontext context_;
  CUstream relay_ = nullptr;
  CUstream out_ = nullptr;
  CUstream in_ = nullptr;
  std::uint64_t out_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> outs_;
  std::deque<Task> ins_;
  std::vector<CUevent> events_;  ///< idle
  CUevent last_out_ = nullptr;   ///< recorded behind the last transfer to the host
  CUevent last_in_ = nullptr;    ///< recorded behind the last transfer to the device
  std::uint64_t moved_out_ = 0;  ///< bytes
  std::uint64_t next_ticket_ = 1;
  std::uint64_t queued_in_ = 0;  ///< the last ticket that is queued
  std::int64_t failures_ = 0;
  bool stopping_ = false;

  struct Flight {
    CUevent event;
    std::size_t bytes;
  };
  std::deque<Flight> flights_;  ///< to the device, not yet known to be done; the in thread's
  std::size_t flying_ = 0;
  std::thread out_thread_;
  std::thread in_thread_;
};

}  // namespace tferry::runtime
