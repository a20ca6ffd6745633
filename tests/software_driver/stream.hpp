#pragma once

#include "tests/software_driver/work.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

namespace tferry::software_driver {

class Capture;
class Context;

/// A queue of work with a thread that does it in order. The thread starts with the first work and ends when
/// the stream was closed and its queue is empty; it keeps stream and context alive until then. Thread-safe.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind { kLegacy, kBlocking, kNonBlocking };

  Stream(std::shared_ptr<Context> context, Kind kind, int priority);

  const std::shared_ptr<Context>& context() const noexcept { return context_; }
  Kind kind() const noexcept { return kind_; }
  int priority() const noexcept { return priority_; }
  std::uint64_t id() const noexcept { return id_; }

  /// Puts work at the end. The caller (Context::submit) has added what it must wait for.
  void push(Work work);
  /// Completion of what was pushed last; null when nothing ever was.
  std::shared_ptr<Completion> last() const;
  void close();

  // Of the capture this stream takes part in; guarded by the CaptureRegistry.
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> capture_tail;  ///< graph nodes that the next captured work depends on

 private:
  void run_queue();
  void perform(Work& work);

  const std::shared_ptr<Context> context_;
  const Kind kind_;
  const int priority_;
  const std::uint64_t id_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::shared_ptr<Completion> last_;
  bool started_ = false;
  bool closed_ = false;

  // Of the worker alone.
  Nanoseconds clock_ = 0;
  std::uint64_t jitter_state_ = 0;
};

/// True on a thread that is just doing stream work: a host function, a callback or a kernel, which must not
/// call the driver.
bool in_stream_work() noexcept;

}  // namespace tferry::software_driver
