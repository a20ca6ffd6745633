#include "collector/buffer_pool.hpp"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace tferry::collector {

BufferPool::BufferPool(std::size_t count, std::size_t ready) {
  void* memory = mmap(nullptr, count * kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<std::uint8_t*>(memory);
  const std::size_t touched = std::min(ready, count) * kBufferBytes;
  for (std::size_t at = 0; at < touched; at += 4096) static_cast<volatile std::uint8_t*>(memory_)[at] = 0;
  states_.assign(count, State::kFree);
  completed_.resize(count);
  free_.reserve(count);
  for (std::size_t i = count; i > 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
}

BufferPool::~BufferPool() {
  if (memory_ != nullptr) munmap(memory_, states_.size() * kBufferBytes);
}

std::optional<std::size_t> BufferPool::index_of(const std::uint8_t* buffer) const noexcept {
  if (memory_ == nullptr || buffer < memory_) return std::nullopt;
  const auto offset = static_cast<std::size_t>(buffer - memory_);
  const std::size_t index = offset / kBufferBytes;
  if (offset % kBufferBytes != 0 || index >= states_.size()) return std::nullopt;
  return index;
}

std::uint8_t* BufferPool::acquire() noexcept {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    declined_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  const std::size_t index = free_.back();
  free_.pop_back();
  states_[index] = State::kOut;
  return memory_ + index * kBufferBytes;
}

void BufferPool::complete(std::uint8_t* buffer, std::size_t valid) noexcept {
  const std::lock_guard lock(mutex_);
  const auto index = index_of(buffer);
  if (!index || states_[*index] != State::kOut) {
    foreign_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (valid == 0) {
    states_[*index] = State::kFree;
    free_.push_back(static_cast<std::uint32_t>(*index));
    return;
  }
  states_[*index] = State::kCompleted;
  completed_[(completed_head_ + completed_count_++) % completed_.size()] = {buffer,
                                                                            std::min(valid, kBufferBytes)};
}

std::optional<BufferPool::Completed> BufferPool::next_completed() noexcept {
  const std::lock_guard lock(mutex_);
  if (completed_count_ == 0) return std::nullopt;
  const Completed completed = completed_[completed_head_];
  completed_head_ = (completed_head_ + 1) % completed_.size();
  --completed_count_;
  states_[*index_of(completed.buffer)] = State::kRead;
  return completed;
}

void BufferPool::release(std::uint8_t* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  const auto index = index_of(buffer);
  if (!index || states_[*index] != State::kRead) {
    foreign_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  states_[*index] = State::kFree;
  free_.push_back(static_cast<std::uint32_t>(*index));
}

std::size_t BufferPool::in_use() const noexcept {
  const std::lock_guard lock(mutex_);
  return states_.size() - free_.size();
}

}  // namespace tferry::collector
