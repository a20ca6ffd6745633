#include "tests/software_driver/context.hpp"

#include "tests/software_driver/capture.hpp"
#include "tests/software_driver/driver.hpp"

#include <algorithm>
#include <utility>

namespace tferry::software_driver {
namespace {

std::atomic<Nanoseconds> host_clock{0};

std::uint64_t next_context_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// The per-thread default streams of one thread, by context; closed with the thread.
struct ThreadStreams {
  ~ThreadStreams() {
    for (auto& [context, stream] : by_context) stream->close();
  }
  std::map<std::uint64_t, std::shared_ptr<Stream>> by_context;
};

thread_local ThreadStreams thread_streams;

}  // namespace

Nanoseconds advance_host_clock(Nanoseconds at) noexcept {
  Nanoseconds now = host_clock.load(std::memory_order_relaxed);
  while (now < at && !host_clock.compare_exchange_weak(now, at, std::memory_order_relaxed)) {
  }
  return std::max(now, at);
}

void wait_on_host(const Completion& completion) noexcept {
  completion.wait();
  advance_host_clock(completion.time());
}

Context::Context(Device& device, unsigned context_flags)
    : flags(context_flags), device_(device), id_(next_context_id()) {}

void Context::fail(CUresult code) noexcept {
  int none = CUDA_SUCCESS;
  error_.compare_exchange_strong(none, code, std::memory_order_acq_rel);
}

std::shared_ptr<Stream> Context::make_stream(Stream::Kind kind, int priority) {
  auto stream = std::make_shared<Stream>(shared_from_this(), kind, priority);
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const auto& known) { return known.expired(); });
  streams_.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> Context::legacy_stream() {
  const std::lock_guard lock(mutex_);
  if (!legacy_) {
    legacy_ = std::make_shared<Stream>(shared_from_this(), Stream::Kind::kLegacy, 0);
    streams_.push_back(legacy_);
  }
  return legacy_;
}

std::shared_ptr<Stream> Context::per_thread_stream() {
  auto& stream = thread_streams.by_context[id_];
  if (!stream) stream = make_stream(Stream::Kind::kBlocking, 0);
  return stream;
}

void Context::submit(Stream& stream, Work work) {
  if (captures().record(stream, work)) return;
  enqueue(stream, std::move(work));
}

void Context::enqueue(Stream& stream, Work work) {
  const std::lock_guard order(submit_mutex_);
  work.submitted = advance_host_clock(0);
  if (stream.kind() != Stream::Kind::kNonBlocking) {
    const std::lock_guard lock(mutex_);
    for (const auto& known : streams_) {
      const auto other = known.lock();
      if (!other || other.get() == &stream || other->kind() == Stream::Kind::kNonBlocking) continue;
      if (stream.kind() != Stream::Kind::kLegacy && other->kind() != Stream::Kind::kLegacy) continue;
      if (auto last = other->last()) work.after.push_back(std::move(last));
    }
  }
  stream.push(std::move(work));
}

std::vector<std::shared_ptr<Completion>> Context::pending() { return last_of_streams(true); }

std::vector<std::shared_ptr<Completion>> Context::pending_blocking() { return last_of_streams(false); }

std::vector<std::shared_ptr<Completion>> Context::last_of_streams(bool non_blocking_too) {
  std::vector<std::shared_ptr<Completion>> unfinished;
  const std::lock_guard lock(mutex_);
  for (const auto& known : streams_) {
    const auto stream = known.lock();
    if (!stream || (!non_blocking_too && stream->kind() == Stream::Kind::kNonBlocking)) continue;
    if (auto last = stream->last()) unfinished.push_back(std::move(last));
  }
  return unfinished;
}

void Context::synchronize() {
  for (const auto& completion : pending()) wait_on_host(*completion);
}

void Context::close() {
  synchronize();
  const std::lock_guard lock(mutex_);
  for (const auto& known : streams_) {
    if (const auto stream = known.lock()) stream->close();
  }
  streams_.clear();
  legacy_.reset();
}

bool Context::enable_peer(const Context& peer) {
  const std::lock_guard lock(mutex_);
  return peers_.insert(peer.id()).second;
}

bool Context::disable_peer(const Context& peer) {
  const std::lock_guard lock(mutex_);
  return peers_.erase(peer.id()) > 0;
}

std::size_t Context::limit(int which) const {
  const std::lock_guard lock(mutex_);
  const auto at = limits_.find(which);
  return at == limits_.end() ? 0 : at->second;
}

void Context::set_limit(int which, std::size_t value) {
  const std::lock_guard lock(mutex_);
  limits_[which] = value;
}

}  // namespace tferry::software_driver
