#pragma once

#include "cuda/driver.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tferry::runtime {

/// What stands in a stream around the transfers that take turns in one direction: before them, and behind all
/// that they depend on, the GPU itself writes the slot's number into `request`, which says that they are
/// ready, and waits until `granted` has reached it; behind them it writes the number into `done`. The words
/// lie in memory of this process alone that the GPU reaches; only this process's own agent (SlotTurns)
/// grants. So a transfer never waits for another process that is gone, and none of our threads stands between
/// the program's launch and the GPU.
///
/// enter() and leave() on the launching thread, under the runtime's lock; the rest by the agent.
class SlotGate {
 public:
  struct alignas(64) Words {
    std::atomic<std::uint32_t> request, granted, done;
  };
  /// Slots that may be queued; transfers beyond pass without one.
  static constexpr std::uint32_t kQueued = 4096;

  /// `at` is where the GPU finds `words`.
  SlotGate(const cuda::Driver& driver, Words& words, CUdeviceptr at)
      : driver_(driver), words_(words), at_(at) {}

  /// Transfers of others can be on the link: they are gated. Any thread.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  /// Begins a slot in a stream; `slack_ns` is how long after they are ready its transfers may take to end
  /// before an operation waits for them. False: they pass without one, and leave() is not called.
  bool enter(CUstream stream, std::int64_t slack_ns);
  /// Behind its copies, which are so many bytes.
  void leave(CUstream stream, std::size_t bytes);
  /// Slots from here on come after so many iterations.
  void set_round(std::uint64_t round) { round_ = round; }

  void set_active(bool active) { active_.store(active, std::memory_order_relaxed); }
  bool broken() const { return broken_.load(std::memory_order_acquire); }
  std::uint32_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  std::uint32_t requested() const { return words_.request.load(std::memory_order_acquire); }
  std::uint32_t done() const { return words_.done.load(std::memory_order_acquire); }
  std::int64_t slack_ns(std::uint32_t number) const { return slack_[number % kQueued]; }
  std::uint64_t bytes(std::uint32_t number) const { return bytes_[number % kQueued]; }
  /// Iterations that had been submitted before that slot.
  std::uint64_t round(std::uint32_t number) const { return rounds_[number % kQueued]; }
  /// Lets everything up to this number pass. May be taken back for what has not passed.
  void grant(std::uint32_t number) { words_.granted.store(number, std::memory_order_release); }

 private:
  bool write(CUstream stream, const std::atomic<std::uint32_t>& word, std::uint32_t value);
  CUdeviceptr address_of(const std::atomic<std::uint32_t>& word) const {
    return at_ + static_cast<CUdeviceptr>(reinterpret_cast<const char*>(&word) -
                                          reinterpret_cast<const char*>(&words_));
  }

  const cuda::Driver& driver_;
  Words& words_;
  CUdeviceptr at_;
  std::atomic<bool> active_{false};
  std::atomic<bool> broken_{false};
  std::atomic<std::uint32_t> submitted_{0};
  std::array<std::atomic<std::int64_t>, kQueued> slack_{};
  std::array<std::atomic<std::uint64_t>, kQueued> rounds_{};
  std::array<std::atomic<std::uint64_t>, kQueued> bytes_{};
  std::uint64_t round_ = 0;
};

/// One run of transfers that are all ready, in as many turns as their bytes ask for. On the launching thread,
/// under the runtime's lock.
class SlotPass {
 public:
  /// `gate` may be null: nothing takes turns. `most_bytes` are moved in a turn at most, but one copy always
  /// is.
  SlotPass(SlotGate* gate, std::size_t most_bytes, std::int64_t slack_ns)
      : gate_(gate),
        gated_(gate != nullptr && gate->active()),
        most_bytes_(most_bytes),
        slack_ns_(slack_ns) {}
  ~SlotPass() { end(); }
  SlotPass(const SlotPass&) = delete;
  SlotPass& operator=(const SlotPass&) = delete;

  /// Transfers may have to wait for their turn. Those of a gate must then all go to one stream, so that what
  /// the GPU writes for one turn never comes behind what it writes for the next.
  bool gated() const { return gated_; }
  /// Before a copy is submitted, behind all that the stream waits for on its behalf.
  void before_copy(CUstream stream, std::size_t bytes);

 private:
  void end();

  SlotGate* gate_;
  bool gated_;
  std::size_t most_bytes_;
  std::int64_t slack_ns_;
  std::size_t bytes_ = 0;
  CUstream stream_ = nullptr;  ///< of the last copy
  bool open_ = false;
};

}  // namespace tferry::runtime
