#include "runtime/coordination/plan_agreement.hpp"

#include <algorithm>

namespace tferry::runtime {
namespace {

// The segment's word: 16 bits number of the change, 48 bits the count of ended iterations at which it is
// made.
constexpr int kNumberShift = 48;
constexpr std::uint64_t kRoundMask = (std::uint64_t{1} << kNumberShift) - 1;

}  // namespace

bool PlanAgreement::may_change(const SlotTable::Identity& self, std::uint64_t round, std::int64_t now_ns) {
  layout_.member[self.member].ready_change = change_;
  bool others = false, all_ready = true;
  std::uint64_t latest = round;
  const auto members =
      static_cast<std::size_t>(std::min<std::uint64_t>(layout_.joined.load(), trace::kSlotMembers));
  for (std::size_t i = 0; i < members; ++i) {
    const trace::SlotMember& member = layout_.member[i];
    if (i == self.member || member.owner.load(std::memory_order_acquire) == 0 ||
        now_ns - member.alive_ns.load() > lease_ns_)
      continue;
    others = true;
    all_ready = all_ready && member.ready_change.load() >= change_;
    latest = std::max(latest, member.round.load());
  }
  std::uint64_t word = layout_.change.load();
  if (others && all_ready && word >> kNumberShift < change_) {
    const std::uint64_t named = change_ << kNumberShift | ((latest + 1) & kRoundMask);
    if (layout_.change.compare_exchange_strong(word, named)) word = named;
  }
  const bool due = word >> kNumberShift == change_ && round >= (word & kRoundMask);
  const bool passed = word >> kNumberShift > change_;
  if (others && !due && !passed && ++waited_ < kPatience) return false;
  ++change_;
  waited_ = 0;
  return true;
}

}  // namespace tferry::runtime
