#include "tests/software_driver/jitter.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <thread>

namespace tferry::software_driver {
namespace {

std::atomic<std::uint64_t> seed{0};

// Marsaglia, "Xorshift RNGs", 2003; the multiplier of xorshift64*.
std::uint64_t next_random(std::uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

}  // namespace

std::uint64_t jitter_seed() noexcept { return seed.load(std::memory_order_relaxed); }
void set_jitter_seed(std::uint64_t value) noexcept { seed.store(value, std::memory_order_relaxed); }

void jitter_pause(std::uint64_t& state, std::uint64_t salt) {
  const std::uint64_t now = jitter_seed();
  if (now == 0) return;
  if (state == 0) state = (now * 0x9e3779b97f4a7c15) ^ (salt + 1);
  const std::uint64_t random = next_random(state) >> 32;
  switch (random % 4) {
    case 0:
      break;
    case 1:
      sched_yield();
      break;
    case 2:
      std::this_thread::sleep_for(std::chrono::microseconds(random / 4 % 50));
      break;
    default:
      std::this_thread::sleep_for(std::chrono::microseconds(random / 4 % 400));
      break;
  }
}

void copy_bytes(void* to, const void* from, std::size_t size) {
  if (jitter_seed() == 0) {
    std::memmove(to, from, size);
    return;
  }
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  const std::size_t piece = std::max<std::size_t>(size / 3, 4096);
  for (std::size_t at = 0; at < size; at += piece) {
    std::memcpy(target + at, source + at, std::min(piece, size - at));
    sched_yield();
  }
}

}  // namespace tferry::software_driver
