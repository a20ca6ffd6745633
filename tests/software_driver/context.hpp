#pragma once

#include "tests/software_driver/stream.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tferry::software_driver {

class Device;

/// A context: the streams of one device that wait for each other, and the error that ends them all.
/// Thread-safe.
class Context : public std::enable_shared_from_this<Context> {
 public:
  Context(Device& device, unsigned flags);

  Device& device() const noexcept { return device_; }
  std::uint64_t id() const noexcept { return id_; }
  std::atomic<unsigned> flags;
  CUcontext handle = nullptr;  ///< set once, before the context is known to anyone

  /// The first error of its work; every later call in the context returns it.
  CUresult error() const noexcept { return static_cast<CUresult>(error_.load(std::memory_order_acquire)); }
  void fail(CUresult code) noexcept;

  std::shared_ptr<Stream> make_stream(Stream::Kind kind, int priority);
  std::shared_ptr<Stream> legacy_stream();
  std::shared_ptr<Stream> per_thread_stream();  ///< of the calling thread

  /// Puts work into a stream, after what the rules of the legacy stream demand, or into the stream's capture.
  void submit(Stream& stream, Work work);
  /// The same without looking at captures.
  void enqueue(Stream& stream, Work work);

  /// Waits for all work of all streams submitted so far.
  void synchronize();
  /// Completions of the last work of every stream.
  std::vector<std::shared_ptr<Completion>> pending();
  /// The same without the non-blocking streams: what the legacy stream waits for.
  std::vector<std::shared_ptr<Completion>> pending_blocking();
  /// Ends all streams once their work is done; the context is being destroyed.
  void close();

  bool enable_peer(const Context& peer);   ///< false when it was enabled
  bool disable_peer(const Context& peer);  ///< false when it was not
  std::size_t limit(int which) const;
  void set_limit(int which, std::size_t value);

 private:
  std::vector<std::shared_ptr<Completion>> last_of_streams(bool non_blocking_too);

  Device& device_;
  const std::uint64_t id_;
  std::atomic<int> error_{CUDA_SUCCESS};
  std::mutex submit_mutex_;  ///< one order of submissions for legacy and blocking streams; before mutex_
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Stream>> streams_;
  std::shared_ptr<Stream> legacy_;
  std::set<std::uint64_t> peers_;
  std::map<int, std::size_t> limits_;
};

/// Makes the host's virtual clock at least `at`; gives what it is now.
Nanoseconds advance_host_clock(Nanoseconds at) noexcept;
/// Waits, and moves the host clock to when it was done.
void wait_on_host(const Completion& completion) noexcept;

}  // namespace tferry::software_driver
