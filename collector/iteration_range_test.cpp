// `--range iterations:FIRST..LAST`: the log of the runtime's hooks decides when CUPTI records.
#include "collector/iteration_range.hpp"

#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tferry::collector {
namespace {

using State = IterationRange::State;

/// operations.PID as the runtime in this process would write it, in memory that the file shares.
class Log {
 public:
  explicit Log(const trace::TestDirectory& directory, std::uint64_t capacity = 4096) : capacity_(capacity) {
    path_ = directory / ("operations." + std::to_string(getpid()));
    std::vector<char> bytes(sizeof(trace::OperationLogHeader) + capacity * sizeof(trace::OperationEntry));
    auto* header = new (bytes.data()) trace::OperationLogHeader;
    header->capacity = capacity;
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void add(std::uint32_t signature, std::uint16_t device = 0) {
    trace::OperationEntry entry{};
    entry.signature = signature;
    entry.device = device;
    write(sizeof(trace::OperationLogHeader) + written_ % capacity_ * sizeof entry, entry);
    ++written_;
    write(offsetof(trace::OperationLogHeader, written), written_);
  }
  void iteration() {
    for (std::uint32_t i = 0; i < kOperations; ++i) add(i);
  }
  static constexpr std::uint32_t kOperations = 100;

 private:
  template <typename Value>
  void write(std::size_t at, const Value& value) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string path_;
  std::uint64_t capacity_, written_ = 0;
};

class IterationRangeTest : public ::testing::Test {
 protected:
  /// Iterations until the period is known, which takes two looks.
  void learn(IterationRange& range, int iterations) {
    for (int i = 0; i < iterations; ++i) {
      log_.iteration();
      range.update();
      if (!range.found()) std::this_thread::sleep_for(std::chrono::milliseconds(110));
    }
    ASSERT_TRUE(range.found());
  }
  /// The state after each operation of so many iterations.
  std::vector<State> run(IterationRange& range, int iterations) {
    std::vector<State> states;
    for (int i = 0; i < iterations; ++i) {
      for (std::uint32_t n = 0; n < Log::kOperations; ++n) {
        log_.add(n);
        states.push_back(range.update());
      }
    }
    return states;
  }

  trace::TestDirectory directory_;
  Log log_{directory_};
};

TEST_F(IterationRangeTest, OpensBeforeTheFirstAndClosesAfterTheLast) {
  IterationRange range(12, 13);
  ASSERT_TRUE(range.open(directory_ / ""));
  learn(range, 10);
  const std::vector<State> states = run(range, 6);  // iterations 10 to 15
  for (std::size_t n = 0; n < states.size(); ++n) {
    const std::size_t iteration = 10 + n / Log::kOperations;
    if (iteration == 12 || iteration == 13) {
      EXPECT_EQ(states[n], State::kInside) << n;
    }
    if (iteration < 11) {
      EXPECT_EQ(states[n], State::kBefore) << n;
    }
    if (n >= 4 * Log::kOperations + 30) {
      EXPECT_EQ(states[n], State::kAfter) << n;
    }
  }
  EXPECT_EQ(range.shifted(), "");
}

TEST_F(IterationRangeTest, WhatHasGoneByIsReplacedByWhatComesAndThatIsSaid) {
  IterationRange range(1, 2);
  ASSERT_TRUE(range.open(directory_ / ""));
  learn(range, 10);
  const std::vector<State> states = run(range, 5);
  EXPECT_EQ(std::count(states.begin(), states.end(), State::kInside) / Log::kOperations, 2);
  EXPECT_EQ(states.back(), State::kAfter);
  EXPECT_NE(range.shifted().find("were recorded: what an iteration is was known too late for 1 to 2"),
            std::string::npos)
      << range.shifted();
}

TEST_F(IterationRangeTest, OtherGpusOfTheProcessDoNotCount) {
  IterationRange range(12, 12);
  ASSERT_TRUE(range.open(directory_ / ""));
  learn(range, 10);
  for (std::uint32_t n = 0; n < 1000; ++n) {
    log_.add(n, 1);
    EXPECT_EQ(range.update(), State::kBefore);
  }
}

TEST_F(IterationRangeTest, WithoutALogOrWithOneOfAnotherVersionThereIsNoRange) {
  const trace::TestDirectory empty;
  EXPECT_FALSE(IterationRange(1, 2).open(empty / ""));
  std::ofstream(empty / ("operations." + std::to_string(getpid()))) << std::string(1000, 'x');
  EXPECT_FALSE(IterationRange(1, 2).open(empty / ""));
}

TEST_F(IterationRangeTest, WhatWasOverwrittenIsCountedAndReadingGoesOn) {
  OperationFeed feed;
  ASSERT_TRUE(feed.open(directory_ / ""));
  for (int i = 0; i < 50; ++i) log_.iteration();
  std::uint64_t read = 0;
  const std::uint64_t lost = feed.read([&](std::uint32_t) { ++read; });
  EXPECT_EQ(lost + read, 5000u);
  EXPECT_GT(lost, 900u);
  log_.iteration();
  EXPECT_EQ(feed.read([&](std::uint32_t) { ++read; }), 0u);
}

}  // namespace
}  // namespace tferry::collector
