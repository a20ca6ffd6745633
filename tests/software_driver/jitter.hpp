#pragma once

#include <cstddef>
#include <cstdint>

namespace tferry::software_driver {

/// Seed of SWD_JITTER; 0 means none.
std::uint64_t jitter_seed() noexcept;
void set_jitter_seed(std::uint64_t seed) noexcept;

/// Pauses the calling worker for a random time between nothing and some hundred microseconds, when jitter is
/// on. `state` is the worker's own random state, seeded by `salt` and the seed at first use.
void jitter_pause(std::uint64_t& state, std::uint64_t salt);

/// memcpy, in pieces with pauses between them when jitter is on, so that a copy that overlaps a write tears.
void copy_bytes(void* to, const void* from, std::size_t size);

}  // namespace tferry::software_driver
