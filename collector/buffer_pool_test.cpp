#include "collector/buffer_pool.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <set>
#include <thread>

namespace tferry::collector {
namespace {

TEST(BufferPoolTest, ABufferGoesRound) {
  BufferPool pool(2, 1);
  std::uint8_t* buffer = pool.acquire();
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0u);
  buffer[BufferPool::kBufferBytes - 1] = 1;
  pool.complete(buffer, 64);
  const auto completed = pool.next_completed();
  ASSERT_TRUE(completed);
  EXPECT_EQ(completed->buffer, buffer);
  EXPECT_EQ(completed->valid, 64u);
  EXPECT_FALSE(pool.next_completed());
  EXPECT_EQ(pool.in_use(), 1u);
  pool.release(buffer);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(BufferPoolTest, DeclinesAndCountsWhenAllAreOut) {
  BufferPool pool(2, 2);
  EXPECT_NE(pool.acquire(), nullptr);
  EXPECT_NE(pool.acquire(), nullptr);
  EXPECT_EQ(pool.acquire(), nullptr);
  EXPECT_EQ(pool.declined(), 1);
}

TEST(BufferPoolTest, AnEmptyBufferIsFreeAtOnce) {
  BufferPool pool(1, 0);
  pool.complete(pool.acquire(), 0);
  EXPECT_FALSE(pool.next_completed());
  EXPECT_NE(pool.acquire(), nullptr);
}

TEST(BufferPoolTest, CountsAndIgnoresWhatIsNotItsOwn) {
  BufferPool pool(2, 1);
  std::uint8_t other[16] = {};
  pool.complete(other, 8);
  std::uint8_t* buffer = pool.acquire();
  pool.complete(buffer + 8, 8);
  pool.complete(buffer, 8);
  pool.complete(buffer, 8);  // twice
  EXPECT_EQ(pool.foreign(), 3);
  EXPECT_TRUE(pool.next_completed());
  EXPECT_FALSE(pool.next_completed());
}

TEST(BufferPoolTest, NeverBelievesMoreBytesThanABufferHas) {
  BufferPool pool(1, 0);
  pool.complete(pool.acquire(), BufferPool::kBufferBytes * 4);
  EXPECT_EQ(pool.next_completed()->valid, BufferPool::kBufferBytes);
}

RC_GTEST_PROP(BufferPoolTest, NoBufferIsEverInTwoHandsAndOrderIsKept,
              (const std::vector<std::uint8_t>& steps)) {
  BufferPool pool(4, 0);
  std::set<std::uint8_t*> out;
  std::deque<std::uint8_t*> completed, reading;
  for (const std::uint8_t step : steps) {
    if (step % 4 == 0) {
      std::uint8_t* buffer = pool.acquire();
      RC_ASSERT((buffer == nullptr) == (out.size() + completed.size() + reading.size() == 4));
      if (buffer != nullptr) RC_ASSERT(out.insert(buffer).second);
    } else if (step % 4 == 1 && !out.empty()) {
      std::uint8_t* buffer = *out.begin();
      out.erase(buffer);
      pool.complete(buffer, step + 1u);
      completed.push_back(buffer);
    } else if (step % 4 == 2) {
      const auto next = pool.next_completed();
      RC_ASSERT(next.has_value() == !completed.empty());
      if (!next) continue;
      RC_ASSERT(next->buffer == completed.front());
      reading.push_back(completed.front());
      completed.pop_front();
    } else if (step % 4 == 3 && !reading.empty()) {
      pool.release(reading.front());
      reading.pop_front();
    }
    RC_ASSERT(pool.in_use() == out.size() + completed.size() + reading.size());
  }
  RC_ASSERT(pool.foreign() == 0);
}

TEST(BufferPoolTest, ManyThreadsLoseNothing) {
  BufferPool pool(8, 0);
  constexpr int kThreads = 4, kRounds = 5000;
  std::atomic<int> given = 0, running = kThreads;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        if (std::uint8_t* buffer = pool.acquire()) {
          ++given;
          pool.complete(buffer, 8);
        }
      }
      --running;
    });
  }
  int taken = 0;
  for (bool last = false;;) {
    const bool ended = running == 0;
    while (const auto next = pool.next_completed()) {
      ++taken;
      pool.release(next->buffer);
    }
    if (last) break;
    last = ended;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, given);
  EXPECT_EQ(given + pool.declined(), kThreads * kRounds);
  EXPECT_EQ(pool.in_use(), 0u);
}

}  // namespace
}  // namespace tferry::collector
