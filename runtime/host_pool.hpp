#pragma once

#include "cuda/driver.hpp"
#include "runtime/moment.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tferry::runtime {

using SlotId = std::uint32_t;
inline constexpr SlotId kNoSlot = ~SlotId{0};

/// Pinned host memory for parked pieces: slabs, cut into slots of one chunk. Slabs are made ahead of need by
/// a helper thread once four fifths are taken, since pinning takes tens of milliseconds a slab, and are
/// kept until the process ends. `capacity` is a promise about what may be made, not memory taken.
///
/// Under the runtime's lock; the helper takes none of it.
class HostPool {
 public:
  struct Slot {
    std::byte* address = nullptr;
    Moments free_after;  ///< the fetch that still reads it
    bool taken = false;
  };

  HostPool(const cuda::Driver& driver, CUcontext context, std::size_t slot_size, std::size_t capacity);
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  /// A free slot, behind `after` in memory where that is free too; kNoSlot when host memory is exhausted.
  SlotId take(SlotId after);
  void give_back(SlotId slot);
  Slot& operator[](SlotId slot) { return slots_[slot]; }
  /// Whether one copy may cover both: `b` lies behind `a` and in the same registration.
  bool neighbours(SlotId a, SlotId b) const;

  /// Whether `slots` more can be had; makes slabs until they are there. False: host memory is exhausted.
  bool ensure_free(std::size_t slots);

  std::size_t slot_size() const { return slot_size_; }
  std::size_t taken() const { return taken_; }
  std::size_t held_bytes() const { return slots_.size() * slot_size_; }
  std::size_t capacity_bytes() const { return capacity_; }
  /// Stops and joins the helper; no slab is made afterwards.
  void stop();

 private:
  bool add_slab();
  void adopt(std::byte* slab);
  std::byte* make_slab();
  void release_slab(std::byte* slab);
  void run_helper();
  void adopt_finished();

  const cuda::Driver& driver_;
  CUcontext context_;
  std::size_t slot_size_;
  std::size_t slab_size_;
  std::size_t capacity_;
  std::vector<Slot> slots_;
  std::size_t taken_ = 0;
  SlotId next_ = 0;

  std::mutex mutex_;  ///< guards what the helper shares
  std::condition_variable wake_;
  std::condition_variable finished_;
  std::thread helper_;
  std::vector<std::byte*> ready_;
  std::size_t wanted_ = 0;
  bool failed_ = false;
  bool stop_ = false;
};

/// Bytes of host memory that this process may still take: the control group's limit less its use where one is
/// set, else what the system calls available. A virtual machine can show far less than it may use (FACTS.md),
/// so the control group is believed before MemAvailable.
std::size_t available_host_memory();

}  // namespace tferry::runtime
