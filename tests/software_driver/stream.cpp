#include "tests/software_driver/stream.hpp"

#include "tests/software_driver/context.hpp"
#include "tests/software_driver/device.hpp"
#include "tests/software_driver/error.hpp"
#include "tests/software_driver/guard.hpp"
#include "tests/software_driver/jitter.hpp"
#include "tests/software_driver/violation.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace tferry::software_driver {
namespace {

thread_local bool doing_work = false;

std::uint64_t next_stream_id() {
  static std::atomic<std::uint64_t> last{2};  // 1 and 2 are the default streams of the interface
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

bool in_stream_work() noexcept { return doing_work; }

Stream::Stream(std::shared_ptr<Context> context, Kind kind, int priority)
    : context_(std::move(context)), kind_(kind), priority_(priority), id_(next_stream_id()) {}

void Stream::push(Work work) {
  const std::lock_guard lock(mutex_);
  require(!closed_, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  last_ = work.done;
  queue_.push_back(std::move(work));
  if (!started_) {
    started_ = true;
    std::thread([self = shared_from_this()] { self->run_queue(); }).detach();
  }
  changed_.notify_one();
}

std::shared_ptr<Completion> Stream::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

void Stream::run_queue() {
  for (;;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    perform(work);
  }
}

void Stream::perform(Work& work) {
  Nanoseconds start = std::max(clock_, work.submitted);
  for (const auto& earlier : work.after) {
    earlier->wait();
    start = std::max(start, earlier->time());
  }
  jitter_pause(jitter_state_, id_);
  std::unique_lock<std::mutex> occupied;
  if (work.engine) {
    occupied = std::unique_lock(work.engine->mutex);
    start = std::max(start, work.engine->free_at);
  }
  if (work.run && (work.after_errors || context_->error() == CUDA_SUCCESS)) {
    doing_work = true;
    if (!work.guarded) {
      work.run();
    } else if (const auto address = run_guarded(work.run)) {
      report_illegal_access(*address, work.kind);
      context_->fail(CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    doing_work = false;
  }
  clock_ = start + work.duration;
  if (work.kind == CU_GRAPH_NODE_TYPE_KERNEL) {
    context_->device().kernels.fetch_add(1, std::memory_order_relaxed);
    context_->device().kernel_time.fetch_add(work.duration, std::memory_order_relaxed);
  }
  if (work.engine) {
    work.engine->free_at = clock_;
    work.engine->busy += work.duration;
    work.engine->bytes += work.bytes;
    ++work.engine->count;
    occupied.unlock();
  }
  work.run = nullptr;  // what it owns is gone before anyone sees it done
  work.done->finish(clock_);
}

}  // namespace tferry::software_driver
