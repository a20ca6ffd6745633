// Ranks as threads on one segment, each with its own gate, whose GPU is a thread too: run under thread
// sanitizer. Checks that transfers with a current grant never overlap, and that every one of them ends. Exit
// code 0: all right.
#include "runtime/coordination/slot_turns.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace tferry;
using namespace tferry::runtime;

constexpr int kRanks = 4;
constexpr std::uint32_t kTransfers = 300;

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

struct Rank {
  cuda::Driver none{};
  SlotGate::Words words{};
  SlotGate gate{none, words, 0};
  std::atomic<bool> ended{false};
};

/// The stream: asks when ready, waits, moves, says so.
void gpu(Rank& rank, unsigned pause_us) {
  for (std::uint32_t number = 1; number <= kTransfers; ++number) {
    rank.words.request.store(number, std::memory_order_release);
    while (static_cast<std::int32_t>(rank.words.granted.load(std::memory_order_acquire) - number) < 0)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    rank.words.done.store(number, std::memory_order_release);
  }
  rank.ended = true;
}

/// The agent.
void agent(Rank& rank, SlotTable& table, std::uint32_t place, SlotFigures& figures) {
  const auto self = table.join(1, place, now_ns()).value();
  SlotTurns turns(rank.gate, table, LinkDirection::kIn);
  while (!rank.ended) {
    table.keep_alive(self, now_ns());
    turns.look(self, now_ns());
    std::this_thread::yield();
  }
  turns.look(self, now_ns());
  figures = turns.figures();
  table.leave(self);
}

}  // namespace

int main() {
  int failures = 0;
  using trace::SlotOrder;
  for (const auto order :
       {SlotOrder::kFixed, SlotOrder::kRotating, SlotOrder::kDeadline, SlotOrder::kBehind}) {
    const auto segment = trace::SlotSegment::in_memory(order, 200'000'000);
    SlotTable table(*segment);
    std::vector<std::unique_ptr<Rank>> ranks;
    std::vector<SlotFigures> figures(kRanks);
    std::vector<std::thread> threads;
    for (int r = 0; r < kRanks; ++r) ranks.push_back(std::make_unique<Rank>());
    for (int r = 0; r < kRanks; ++r) {
      Rank& rank = *ranks[static_cast<std::size_t>(r)];
      threads.emplace_back([&rank, r] { gpu(rank, static_cast<unsigned>(20 + 10 * r)); });
      threads.emplace_back([&rank, &table, &figures, r] {
        agent(rank, table, static_cast<std::uint32_t>(r), figures[static_cast<std::size_t>(r)]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const SlotFigures& f : figures) {
      const bool right = f.asked == f.granted && f.asked + f.ahead == kTransfers && f.asked > 0;
      failures += !right;
      std::printf("asked %lld granted %lld used %lld ahead %lld expired %lld%s\n",
                  static_cast<long long>(f.asked), static_cast<long long>(f.granted),
                  static_cast<long long>(f.used), static_cast<long long>(f.ahead),
                  static_cast<long long>(f.expired), right ? "" : "  WRONG");
    }
    failures += table.owner(0, LinkDirection::kIn).has_value();
  }
  return failures == 0 ? 0 : 1;
}
