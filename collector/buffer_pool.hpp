#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace tferry::collector {

/// The memory that CUPTI writes its records to: `count` buffers of 256 KiB, mapped at the start, the first
/// `ready` of them touched. Buffers go around: acquire (CUPTI asks, perhaps inside a launch) -> complete
/// (CUPTI gives back) -> next_completed (ours to read) -> release. When none is free the request is declined
/// and counted: CUPTI then drops records, the job does not wait.
///
/// Small buffers, because a plain flush withholds a buffer that holds the record of a running kernel.
///
/// Threads: any, at any time; the lock is held for a few instructions, and no call is made under it.
class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = 256 << 10;

  struct Completed {
    std::uint8_t* buffer = nullptr;
    std::size_t valid = 0;  ///< bytes with records
  };

  /// On lack of memory the pool is empty and declines every request.
  BufferPool(std::size_t count, std::size_t ready);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// 8-byte aligned; null when all are in use.
  std::uint8_t* acquire() noexcept;
  /// An address that is none of ours, or a buffer that was not out, is counted and left alone.
  void complete(std::uint8_t* buffer, std::size_t valid) noexcept;
  /// In the order of completion.
  std::optional<Completed> next_completed() noexcept;
  void release(std::uint8_t* buffer) noexcept;

  std::size_t size() const noexcept { return states_.size(); }
  std::size_t in_use() const noexcept;
  std::int64_t declined() const noexcept { return declined_.load(std::memory_order_relaxed); }
  std::int64_t foreign() const noexcept { return foreign_.load(std::memory_order_relaxed); }

 private:
  enum class State : std::uint8_t { kFree, kOut, kCompleted, kRead };
  std::optional<std::size_t> index_of(const std::uint8_t* buffer) const noexcept;

  std::uint8_t* memory_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<State> states_;
  std::vector<std::uint32_t> free_;   ///< a stack: what was used last is used next
  std::vector<Completed> completed_;  ///< a ring, as long as the pool
  std::size_t completed_head_ = 0, completed_count_ = 0;
  std::atomic<std::int64_t> declined_ = 0, foreign_ = 0;
};

}  // namespace tferry::collector
