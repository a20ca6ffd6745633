#pragma once

#include "trace/slot_segment.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tferry::runtime {

enum class LinkDirection : std::uint8_t { kIn, kOut };

/// The protocol by which ranks take turns on the links that they share.
///
/// A link has one slot in each direction. A rank asks for it once a transfer of its own is ready to run (its
/// contents are there, its room is free), and gives it back when that transfer has ended; while it waits for
/// compute, for room or for a collective it neither asks nor holds (ALGORITHMS.md, rule 15), so a slot is
/// never part of a cycle. There is no arbiter to elect and to replace: whoever waits, and whoever gives back,
/// grants the free slot to the best of those that wait, by one compare-and-swap of a word that holds owner,
/// time and a count. The order is that of the segment (SlotOrder); who waited kPatienceLeases leases goes
/// first, the longest waiting of them first, whatever the order.
///
/// A slot is held for a lease at most. After that anybody who waits takes it away: its owner was killed,
/// stopped, or is slow, and a slow one's transfer then only shares the link. Requests of a member that has
/// not looked for a lease are passed over, and a grant that was not taken up ends its request, so a rank that
/// is gone costs the others one lease, once. Nothing but the turn depends on any of this: a rank that is
/// passed over, or that finds its entry taken, goes on alone.
///
/// Every call takes the time, so that tests can make it up. All are lock-free and wait for nothing. Calls of
/// one member come from one thread; different members may call at once, from any process.
class SlotTable {
 public:
  using Member = std::size_t;
  /// What a slot's word was when it was granted: proof of holding it.
  struct Grant {
    std::uint64_t word = 0;
  };
  struct Identity {
    Member member = 0;
    std::uint64_t owner = 0;
    std::size_t link = 0;
  };
  /// A grant that was chosen and not yet made. Apart, so that tests can let others act in between.
  struct Proposal {
    std::size_t link = 0;
    LinkDirection direction = LinkDirection::kIn;
    std::uint64_t expected = 0, desired = 0;
  };

  static constexpr std::int64_t kPatienceLeases = 50;
  /// A member that has not looked for so many leases no longer counts as there; its entry may be used again.
  static constexpr std::int64_t kGoneLeases = 500;

  explicit SlotTable(trace::SlotSegment& segment);

  /// Becomes a member on a link; null when all entries, or all links, are in use.
  std::optional<Identity> join(std::uint64_t link_number, std::uint32_t rank, std::int64_t now_ns);
  void leave(const Identity& self);
  /// To be called at least every half lease. False: the entry is another's by now.
  bool keep_alive(const Identity& self, std::int64_t now_ns);
  void set_round(const Identity& self, std::uint64_t round);
  /// The most that anybody else on the link has ended.
  std::uint64_t latest_round(const Identity& self, std::int64_t now_ns) const;
  /// How long an iteration takes with turns and without, as this member measured it, ns.
  void set_times(const Identity& self, std::int64_t with_ns, std::int64_t without_ns);
  /// Those of all members on the link that look; null: not all are known.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> times(std::size_t link,
                                                                          std::int64_t now_ns) const;
  /// Members on the link that look, this one included.
  std::size_t members_on(std::size_t link, std::int64_t now_ns) const;

  /// A transfer of this member is ready. At most one in each direction.
  struct Need {
    std::int64_t deadline_ns = 0;  ///< when an operation waits for it
    std::uint64_t round = 0;       ///< iterations that the rank had submitted before it
  };
  void ask(const Identity& self, LinkDirection direction, const Need& need, std::int64_t now_ns);
  void withdraw(const Identity& self, LinkDirection direction);
  /// False: the request was dropped, because a grant to this member was not taken up for a lease. It may ask
  /// again.
  bool waits(const Identity& self, LinkDirection direction) const;
  /// The grant, once this member has it; the request is then over.
  std::optional<Grant> granted(const Identity& self, LinkDirection direction);
  /// Takes a free slot without waiting, for a transfer that runs already.
  std::optional<Grant> take_free(const Identity& self, LinkDirection direction, std::int64_t now_ns);
  /// False: the lease had ended and the slot was taken away.
  bool give_back(const Identity& self, LinkDirection direction, Grant grant, std::int64_t now_ns);
  bool others_wait(const Identity& self, LinkDirection direction, std::int64_t now_ns) const;

  /// The grant that is due: the slot is free, or its lease has ended, and somebody waits. Null: none is.
  std::optional<Proposal> choose(std::size_t link, LinkDirection direction, std::int64_t now_ns) const;
  bool commit(const Proposal& proposal);
  void arbitrate(std::size_t link, LinkDirection direction, std::int64_t now_ns);

  /// Who holds the slot; null: nobody.
  std::optional<Member> owner(std::size_t link, LinkDirection direction) const;
  std::int64_t lease_ns() const { return lease_ns_; }

 private:
  std::size_t find_link(std::uint64_t number);
  bool looks(const trace::SlotMember& member, std::int64_t now_ns) const;
  std::size_t members() const;
  std::uint64_t place_in_order(std::size_t member, std::int64_t now_ns) const;
  bool before(std::size_t a, std::size_t b, std::size_t direction, std::int64_t now_ns) const;
  std::atomic<std::uint64_t>& slot(std::size_t link, LinkDirection direction) const {
    return layout_.link[link].slot[static_cast<std::size_t>(direction)];
  }

  trace::SlotSegmentLayout& layout_;
  trace::SlotOrder order_;
  std::int64_t lease_ns_;
};

}  // namespace tferry::runtime
