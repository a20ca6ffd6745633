#pragma once

#include <cstddef>
#include <memory>

namespace tferry::experiments {

/// How long each step of getting a slab took, in microseconds; a step not made is 0.
struct SlabTimes {
  double map_us = 0;
  double prefault_us = 0;
  double pin_us = 0;
};

/// Pinned host memory, usable by every context, freed with the object.
class HostSlab {
 public:
  /// From cuMemHostAlloc.
  static std::unique_ptr<HostSlab> from_driver(std::size_t bytes);
  /// Anonymous memory, touched by `threads` threads, then cuMemHostRegister; `huge` asks for transparent huge
  /// pages.
  static std::unique_ptr<HostSlab> registered(std::size_t bytes, bool huge, int threads);
  ~HostSlab();
  HostSlab(const HostSlab&) = delete;
  HostSlab& operator=(const HostSlab&) = delete;

  void* data() const { return data_; }
  const SlabTimes& times() const { return times_; }

 private:
  HostSlab() = default;

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool from_driver_ = false;
  bool registered_ = false;
  SlabTimes times_;
};

}  // namespace tferry::experiments
