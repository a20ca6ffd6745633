#pragma once

#include "tests/software_driver/completion.hpp"

#include <cuda.h>

#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace tferry::software_driver {

class Capture;

/// Behind a CUevent: the completion of its latest record. Never recorded counts as done.
class Event {
 public:
  Event(CUcontext owner, unsigned event_flags) noexcept : context(owner), flags(event_flags) {}

  std::shared_ptr<Completion> last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  void set_last(std::shared_ptr<Completion> completion) {
    const std::lock_guard lock(mutex_);
    last_ = std::move(completion);
  }

  const CUcontext context;
  const unsigned flags;

  // When it was last recorded in a capturing stream; guarded by the CaptureRegistry.
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> capture_nodes;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Completion> last_;
};

}  // namespace tferry::software_driver
