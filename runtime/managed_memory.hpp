#pragma once

#include "cuda/driver.hpp"
#include "runtime/address_space.hpp"
#include "runtime/config.hpp"
#include "runtime/device_memory.hpp"
#include "runtime/managed_mover.hpp"
#include "runtime/moment.hpp"
#include "runtime/recorder.hpp"
#include "runtime/small_arena.hpp"
#include "runtime/status_page.hpp"
#include "runtime/stream_table.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tferry::runtime {

/// One allocation of the program in managed memory.
struct ManagedAllocation {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;     ///< as asked for
  std::size_t reserved = 0;  ///< whole pages
  std::uint64_t buffer_id = 0;
  bool stream_ordered = false;
  bool live = true;
  bool held = false;       ///< a graph may know it: its addresses are not used again while one lives
  std::uint32_t pins = 0;  ///< operations between acquire and release: its pages stay
  bool used = false;       ///< an operation named it: before, its contents are dead
  Moments uses;            ///< the last operation of each stream that named it
  Moments pending;         ///< of those who had the addresses before; a use waits for them

  bool dead() const { return !live || !used; }
};

/// The program's memory on one device as CUDA managed memory, after "PUMP": profiling-free prefetching,
/// because kernels are launched well before they run. What a launch names is prefetched at once, off the
/// launching thread; blocks already on the device cost nothing. Under a budget the pages used longest ago are
/// moved out, and a launch waits on the GPU for its own prefetch.
///
/// Whatever is decided here, contents are right: the driver moves what is missing by faults. So nothing has
/// to be gated for correctness, captured graphs included, and the budget is a software budget: faults do not
/// respect it.
///
/// In the access pass by pages (config.access_pages, page_probe.hpp) nothing is prefetched here, and what is
/// larger than kSharedPages has pages of its own, so that a page that was touched tells the allocation.
///
/// All of it is one cuMemAllocManaged region, at most as large as the card has free memory when it is made,
/// unless oversubscription was allowed (FACTS.md: more than that can hang the GPU). Under the runtime's lock.
class ManagedMemory {
 public:
  struct Environment {
    const cuda::Driver& driver;
    const Config& config;
    StatusPage& status;
    StreamTable& streams;
    Recorder* recorder = nullptr;  ///< null: what is allocated here is not recorded
  };
  using Reference = std::shared_ptr<ManagedAllocation>;

  ManagedMemory(Environment environment, int ordinal, CUdevice device, CUcontext context);
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  /// Makes the region. False: the driver has no managed memory that moves by pages; `error` says why.
  bool open(std::string& error);

  bool contains(CUdeviceptr address) const { return region_.contains(address); }
  CUresult allocate(std::size_t bytes, bool stream_ordered, CUdeviceptr* address);
  /// False: no allocation of ours begins there.
  bool free(CUdeviceptr address, const Moments& after);
  std::optional<AllocationView> view(CUdeviceptr address) const;
  /// The allocation that holds this address; small ones have none, they stay on the device.
  Reference find(CUdeviceptr address) const;

  /// Brings what an operation of `stream` names to the device. True when the stream was made to wait.
  bool acquire(StreamIndex stream, std::span<const Reference> named);
  /// Between acquire and release nothing that the operation names leaves. Allocations of any device.
  static void pin(std::span<const Reference> named);
  /// Ends a pin: the operation was submitted as `moment`, or not at all (nullptr).
  static void release(std::span<const Reference> named, const Moment* moment);

  /// A capture knows the allocation at this address, small ones included.
  void hold(CUdeviceptr address);
  /// No graph is left: what was freed while held can be used again.
  void release_held();

  CUcontext context() const { return context_; }
  int ordinal() const { return ordinal_; }
  /// Bytes on the device that no allocation needs.
  std::size_t idle_bytes() const { return resident_ > allocated_ ? resident_ - allocated_ : 0; }
  std::size_t allocated_bytes() const { return allocated_; }
  /// Bytes that the card had free when the region was made.
  std::size_t card_free() const { return card_free_; }
  /// Pages that hold something of the program's, in the order of their addresses, as few runs as there can
  /// be.
  std::vector<ManagedRun> in_use() const;

  static constexpr std::size_t kPage = std::size_t{2} << 20;
  static constexpr std::size_t kSharedPages = std::size_t{64} << 10;  ///< in the pass by pages

 private:
  using PageIndex = std::uint32_t;
  static constexpr PageIndex kNoPage = ~PageIndex{0};
  struct Page {
    Reference holder;  ///< who used it last, alive or not
    bool resident = false;
    bool discarded = false;     ///< when it left last, and nobody has had its address since
    bool filled = false;        ///< something was written to it, here or on the host
    std::uint64_t tick = 0;     ///< of the last operation that named it
    std::uint64_t out_at = 0;   ///< bytes ever moved out, it included, when it was
    PageIndex older = kNoPage;  ///< neighbours in the order of use; resident pages only
    PageIndex newer = kNoPage;
  };

  PageIndex page_of(CUdeviceptr address) const {
    return static_cast<PageIndex>((address - region_.begin()) / kPage);
  }
  CUdeviceptr address_of(PageIndex page) const { return region_.begin() + page * kPage; }
  void touch(PageIndex page);
  void unlink(PageIndex page);
  static bool freed(const Page& page) { return page.holder != nullptr && !page.holder->live; }
  static bool dead(const Page& page) { return page.holder == nullptr || page.holder->dead(); }
  std::vector<PageIndex> missing(std::span<const Reference> named);
  std::vector<PageIndex> victims(std::size_t bytes, std::uint64_t used_before) const;
  void move_out(const std::vector<PageIndex>& pages, StreamIndex stream);
  void move_in(const std::vector<PageIndex>& pages, StreamIndex stream);
  void settle(PageIndex page, bool resident);
  std::vector<ManagedRun> runs_of(const std::vector<PageIndex>& pages) const;
  CUdeviceptr take_for_good(std::size_t bytes);
  void account(std::int64_t bytes);
  void wait_for_discards(PageIndex first, std::size_t pages);

  const cuda::Driver& driver_;
  const Config& config_;
  StatusPage& status_;
  trace::DeviceStatus& counters_;
  StreamTable& streams_;
  Recorder* recorder_;
  int ordinal_;
  CUdevice device_;
  CUcontext context_;

  CUdeviceptr base_ = 0;
  AddressRange region_;
  std::size_t budget_ = 0;  ///< bytes of resident pages; 0: as much as there is
  bool emulate_ = false;    ///< no prefetch: naive managed memory in a card of the budget's size
  std::map<CUdeviceptr, Reference> live_;
  std::vector<Reference> held_;  ///< freed while held
  std::vector<Page> pages_;
  PageIndex oldest_ = kNoPage;
  PageIndex newest_ = kNoPage;
  std::size_t resident_ = 0;
  std::size_t allocated_ = 0;
  std::size_t card_free_ = 0;
  std::vector<ManagedRun> slabs_;  ///< of small allocations
  std::uint64_t tick_ = 0;
  std::uint64_t next_buffer_id_ = 1;
  StreamIndex relay_ = 0;
  std::unique_ptr<SmallArena> arena_;
  std::unique_ptr<ManagedMover> mover_;
  bool too_large_told_ = false;
};

}  // namespace tferry::runtime
