#include "runtime/coordination/slot_table.hpp"

#include <algorithm>

namespace tferry::runtime {
namespace {

using trace::kSlotLinks;
using trace::kSlotMembers;
using trace::SlotMember;

// A slot's word: 8 bits owner + 1 (0: free), 16 bits count, 40 bits microseconds (12 days, then around
// again).
constexpr int kOwnerShift = 56;
constexpr int kCountShift = 40;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kCountShift) - 1;

constexpr std::uint64_t micros(std::int64_t ns) { return static_cast<std::uint64_t>(ns / 1000) & kTimeMask; }

std::optional<std::size_t> owner_of(std::uint64_t word) {
  const std::uint64_t owner = word >> kOwnerShift;
  if (owner == 0 || owner > kSlotMembers) return std::nullopt;
  return owner - 1;
}

std::uint64_t successor(std::uint64_t word, std::optional<std::size_t> owner, std::int64_t now_ns) {
  const std::uint64_t count = ((word >> kCountShift) + 1) & 0xffff;
  return (owner ? std::uint64_t{*owner + 1} << kOwnerShift : 0) | count << kCountShift | micros(now_ns);
}

/// How long ago the word was written. Clocks are read before words: a little ahead is now.
std::int64_t age_ns(std::uint64_t word, std::int64_t now_ns) {
  const std::uint64_t age = (micros(now_ns) - word) & kTimeMask;
  return age > kTimeMask / 2 ? 0 : static_cast<std::int64_t>(age) * 1000;
}

}  // namespace

SlotTable::SlotTable(trace::SlotSegment& segment)
    : layout_(segment.layout()), order_(segment.order()), lease_ns_(segment.lease_ns()) {}

std::size_t SlotTable::find_link(std::uint64_t number) {
  for (std::size_t i = 0; i < kSlotLinks; ++i) {
    std::uint64_t known = layout_.link[i].name.load(std::memory_order_acquire);
    if (known == 0) layout_.link[i].name.compare_exchange_strong(known, number);
    if (known == 0 || known == number) return i;
  }
  return kSlotLinks;
}

std::optional<SlotTable::Identity> SlotTable::join(std::uint64_t link_number, std::uint32_t rank,
                                                   std::int64_t now_ns) {
  const std::size_t link = find_link(link_number);
  if (link == kSlotLinks) return std::nullopt;
  const std::uint64_t owner = layout_.joined.fetch_add(1) + 1;
  for (std::size_t i = 0; i < kSlotMembers; ++i) {
    SlotMember& member = layout_.member[i];
    std::uint64_t known = member.owner.load(std::memory_order_acquire);
    const bool gone = known != 0 && now_ns - member.alive_ns.load() > kGoneLeases * lease_ns_;
    if (known != 0 && !gone) continue;
    member.alive_ns = now_ns;  // before the entry is ours, so that nobody takes us for gone
    if (!member.owner.compare_exchange_strong(known, owner)) continue;
    for (SlotMember::Request& request : member.request) request.waiting = 0;
    member.link = static_cast<std::uint32_t>(link);
    member.rank = rank;
    member.round = 0;
    member.ready_change = 0;
    member.with_turns_ns = 0;
    member.without_turns_ns = 0;
    return Identity{i, owner, link};
  }
  return std::nullopt;
}

void SlotTable::leave(const Identity& self) {
  SlotMember& member = layout_.member[self.member];
  if (member.owner.load() != self.owner) return;
  for (SlotMember::Request& request : member.request) request.waiting = 0;
  for (std::size_t direction = 0; direction < trace::kSlotDirections; ++direction) {
    std::atomic<std::uint64_t>& word = layout_.link[self.link].slot[direction];
    std::uint64_t held = word.load();
    if (owner_of(held) == self.member)
      word.compare_exchange_strong(held, successor(held, std::nullopt, member.alive_ns.load()));
  }
  std::uint64_t own = self.owner;
  member.owner.compare_exchange_strong(own, 0);
}

bool SlotTable::keep_alive(const Identity& self, std::int64_t now_ns) {
  SlotMember& member = layout_.member[self.member];
  if (member.owner.load(std::memory_order_acquire) != self.owner) return false;
  member.alive_ns.store(now_ns, std::memory_order_release);
  return true;
}

void SlotTable::set_round(const Identity& self, std::uint64_t round) {
  layout_.member[self.member].round.store(round, std::memory_order_relaxed);
}

std::uint64_t SlotTable::latest_round(const Identity& self, std::int64_t now_ns) const {
  std::uint64_t latest = 0;
  for (std::size_t i = 0; i < members(); ++i) {
    const SlotMember& member = layout_.member[i];
    if (i != self.member && member.link == self.link && looks(member, now_ns))
      latest = std::max(latest, member.round.load(std::memory_order_relaxed));
  }
  return latest;
}

void SlotTable::set_times(const Identity& self, std::int64_t with_ns, std::int64_t without_ns) {
  layout_.member[self.member].without_turns_ns = without_ns;
  layout_.member[self.member].with_turns_ns = with_ns;
}

std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> SlotTable::times(
    std::size_t link, std::int64_t now_ns) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (std::size_t i = 0; i < members(); ++i) {
    const SlotMember& member = layout_.member[i];
    if (member.link != link || !looks(member, now_ns)) continue;
    all.emplace_back(member.with_turns_ns.load(), member.without_turns_ns.load());
    if (all.back().first == 0) return std::nullopt;
  }
  return all;
}

bool SlotTable::looks(const SlotMember& member, std::int64_t now_ns) const {
  return member.owner.load(std::memory_order_acquire) != 0 && now_ns - member.alive_ns.load() <= lease_ns_;
}

std::size_t SlotTable::members_on(std::size_t link, std::int64_t now_ns) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < members(); ++i) {
    const SlotMember& member = layout_.member[i];
    count += member.link == link && member.owner.load(std::memory_order_acquire) != 0 &&
             now_ns - member.alive_ns.load() <= kGoneLeases * lease_ns_;
  }
  return count;
}

void SlotTable::ask(const Identity& self, LinkDirection direction, const Need& need, std::int64_t now_ns) {
  SlotMember::Request& request = layout_.member[self.member].request[static_cast<std::size_t>(direction)];
  request.since_ns.store(now_ns, std::memory_order_relaxed);
  request.deadline_ns.store(need.deadline_ns, std::memory_order_relaxed);
  request.round.store(need.round, std::memory_order_relaxed);
  request.waiting.store(1);
}

void SlotTable::withdraw(const Identity& self, LinkDirection direction) {
  layout_.member[self.member].request[static_cast<std::size_t>(direction)].waiting.store(0);
}

bool SlotTable::waits(const Identity& self, LinkDirection direction) const {
  return layout_.member[self.member].request[static_cast<std::size_t>(direction)].waiting.load() != 0;
}

std::optional<SlotTable::Grant> SlotTable::granted(const Identity& self, LinkDirection direction) {
  const std::uint64_t word = slot(self.link, direction).load(std::memory_order_acquire);
  if (owner_of(word) != self.member) return std::nullopt;
  withdraw(self, direction);
  return Grant{word};
}

std::optional<SlotTable::Grant> SlotTable::take_free(const Identity& self, LinkDirection direction,
                                                     std::int64_t now_ns) {
  std::uint64_t word = slot(self.link, direction).load(std::memory_order_acquire);
  if (owner_of(word)) return std::nullopt;
  const std::uint64_t desired = successor(word, self.member, now_ns);
  if (!slot(self.link, direction).compare_exchange_strong(word, desired)) return std::nullopt;
  return Grant{desired};
}

bool SlotTable::give_back(const Identity& self, LinkDirection direction, Grant grant, std::int64_t now_ns) {
  std::uint64_t word = grant.word;
  const bool own =
      slot(self.link, direction).compare_exchange_strong(word, successor(grant.word, std::nullopt, now_ns));
  if (own) arbitrate(self.link, direction, now_ns);
  return own;
}

bool SlotTable::others_wait(const Identity& self, LinkDirection direction, std::int64_t now_ns) const {
  for (std::size_t i = 0; i < members(); ++i) {
    const SlotMember& member = layout_.member[i];
    if (i != self.member && member.request[static_cast<std::size_t>(direction)].waiting.load() != 0 &&
        member.link == self.link && looks(member, now_ns))
      return true;
  }
  return false;
}

/// Entries beyond were never used: who joins takes the first that is free.
std::size_t SlotTable::members() const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(layout_.joined.load(), kSlotMembers));
}

/// The rank; under kRotating its place among the ranks of its link, moved on by one with every iteration.
std::uint64_t SlotTable::place_in_order(std::size_t index, std::int64_t now_ns) const {
  const SlotMember& self = layout_.member[index];
  if (order_ != trace::SlotOrder::kRotating) return self.rank;
  std::uint64_t lower = 0, all = 0, round = 0;
  for (std::size_t i = 0; i < members(); ++i) {
    const SlotMember& member = layout_.member[i];
    if (member.link != self.link || !looks(member, now_ns)) continue;
    ++all;
    lower += member.rank < self.rank || (member.rank == self.rank && i < index);
    round = std::max(round, member.round.load());
  }
  return all == 0 ? 0 : (lower + round) % all;
}

bool SlotTable::before(std::size_t a, std::size_t b, std::size_t direction, std::int64_t now_ns) const {
  const SlotMember::Request& one = layout_.member[a].request[direction];
  const SlotMember::Request& other = layout_.member[b].request[direction];
  const std::int64_t since[] = {one.since_ns, other.since_ns};
  const bool overdue[] = {now_ns - since[0] > kPatienceLeases * lease_ns_,
                          now_ns - since[1] > kPatienceLeases * lease_ns_};
  if (overdue[0] != overdue[1]) return overdue[0];
  if (overdue[0] && since[0] != since[1]) return since[0] < since[1];
  if (order_ == trace::SlotOrder::kDeadline) {
    const std::int64_t due[] = {one.deadline_ns, other.deadline_ns};
    if (due[0] != due[1]) return due[0] < due[1];
  }
  if (order_ == trace::SlotOrder::kBehind) {
    const std::uint64_t round[] = {one.round, other.round};
    if (round[0] != round[1]) return round[0] < round[1];
  }
  return place_in_order(a, now_ns) < place_in_order(b, now_ns);
}

std::optional<SlotTable::Proposal> SlotTable::choose(std::size_t link, LinkDirection direction,
                                                     std::int64_t now_ns) const {
  const std::uint64_t word = slot(link, direction).load(std::memory_order_acquire);
  const std::optional<std::size_t> held_by = owner_of(word);
  if (held_by && age_ns(word, now_ns) <= lease_ns_) return std::nullopt;
  const auto way = static_cast<std::size_t>(direction);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < members(); ++i) {
    const SlotMember& member = layout_.member[i];
    // Who let a lease pass without taking up its grant does not get the next one as well.
    if (i == held_by || member.request[way].waiting.load() == 0 || member.link != link ||
        !looks(member, now_ns))
      continue;
    if (!best || before(i, *best, way, now_ns)) best = i;
  }
  if (!best) return std::nullopt;
  return Proposal{link, direction, word, successor(word, best, now_ns)};
}

bool SlotTable::commit(const Proposal& proposal) {
  std::uint64_t expected = proposal.expected;
  if (!slot(proposal.link, proposal.direction).compare_exchange_strong(expected, proposal.desired))
    return false;
  if (const auto before = owner_of(proposal.expected))
    layout_.member[*before].request[static_cast<std::size_t>(proposal.direction)].waiting.store(0);
  return true;
}

void SlotTable::arbitrate(std::size_t link, LinkDirection direction, std::int64_t now_ns) {
  if (const auto proposal = choose(link, direction, now_ns)) commit(*proposal);
}

std::optional<SlotTable::Member> SlotTable::owner(std::size_t link, LinkDirection direction) const {
  return owner_of(slot(link, direction).load(std::memory_order_acquire));
}

}  // namespace tferry::runtime
