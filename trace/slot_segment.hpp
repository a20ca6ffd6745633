#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace tferry::trace {

/// What the ranks of a job on one host share so that their transfers take turns on a link: one file, mapped
/// by every rank, made by the launcher with mode 0600 in a private directory. Times are nanoseconds of
/// CLOCK_MONOTONIC. Everything is a lock-free atomic; nothing in it is an address, a lock or a size that a
/// reader relies on, so a rank can be killed between any two stores. The protocol:
/// runtime/coordination/slot_table.hpp.
inline constexpr std::uint64_t kSlotSegmentMagic = 0x4353'5252'4546'5401;  // "\1TFERRSC"
inline constexpr std::uint32_t kSlotSegmentVersion = 2;
inline constexpr std::size_t kSlotMembers = 64;
inline constexpr std::size_t kSlotLinks = 32;
inline constexpr std::size_t kSlotDirections = 2;  ///< in (to the GPU), out

/// In which order waiting transfers are granted. Order is the file format.
enum class SlotOrder : std::uint32_t {
  kFixed = 0,     ///< the lowest rank first
  kRotating = 1,  ///< the same, ranks rotated by one at every iteration of a plan
  kDeadline = 2,  ///< the nearest need first
  kBehind = 3     ///< what belongs to the earliest iteration first, of one iteration the lowest rank's
};

/// One GPU of one process.
struct alignas(128) SlotMember {
  std::atomic<std::uint64_t> owner;  ///< 0: free; else a number that no other member of the segment ever has
  std::atomic<std::uint32_t> link;
  std::atomic<std::uint32_t> rank;
  std::atomic<std::uint64_t> round;         ///< iterations ended
  std::atomic<std::uint64_t> ready_change;  ///< the number of the change of plans that it is ready for
  std::atomic<std::int64_t> with_turns_ns;  ///< of an iteration, as measured; 0: not known
  std::atomic<std::int64_t> without_turns_ns;
  std::atomic<std::int64_t> alive_ns;  ///< when it last looked
  struct Request {
    std::atomic<std::uint32_t> waiting;  ///< 1: a transfer is ready and asks for a slot
    std::atomic<std::int64_t> since_ns;
    std::atomic<std::int64_t> deadline_ns;
    std::atomic<std::uint64_t> round;  ///< iterations that its rank had submitted before it
  };
  Request request[kSlotDirections];
};

struct SlotLink {
  std::atomic<std::uint64_t> name;  ///< hash of what the ranks call the link; 0: free
  std::atomic<std::uint64_t> slot[kSlotDirections];
};

struct SlotSegmentLayout {
  std::atomic<std::uint64_t> magic;  ///< written last
  std::uint32_t version;
  std::uint32_t size;
  std::int64_t lease_ns;
  std::uint32_t order;  ///< a SlotOrder
  std::uint32_t reserved;
  std::atomic<std::uint64_t> joined;  ///< members ever
  std::atomic<std::uint64_t>
      change;  ///< of plans: its number, and when (runtime/coordination/plan_agreement.hpp)
  SlotLink link[kSlotLinks];
  SlotMember member[kSlotMembers];
};
static_assert(std::is_standard_layout_v<SlotSegmentLayout>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A mapping of the file. Any thread.
class SlotSegment {
 public:
  static constexpr std::int64_t kDefaultLease = 20'000'000;

  /// Makes the file, which must not exist. Null with the reason in `error`.
  static std::unique_ptr<SlotSegment> create(const std::string& path, SlotOrder order, std::int64_t lease_ns,
                                             std::string& error);
  /// Maps one that another made. Null with the reason in `error`: not such a file, another's, or of another
  /// version.
  static std::unique_ptr<SlotSegment> open(const std::string& path, std::string& error);
  /// Private memory of the same form, for tests.
  static std::unique_ptr<SlotSegment> in_memory(SlotOrder order, std::int64_t lease_ns);
  ~SlotSegment();
  SlotSegment(const SlotSegment&) = delete;
  SlotSegment& operator=(const SlotSegment&) = delete;

  SlotSegmentLayout& layout() { return *layout_; }
  SlotOrder order() const;
  std::int64_t lease_ns() const { return layout_->lease_ns; }

 private:
  explicit SlotSegment(SlotSegmentLayout* layout) : layout_(layout) {}
  static void begin(SlotSegmentLayout& layout, SlotOrder order, std::int64_t lease_ns);

  SlotSegmentLayout* layout_;
};

/// The number under which a link is known, from any name. Never 0.
std::uint64_t slot_link_number(const std::string& name);

}  // namespace tferry::trace
