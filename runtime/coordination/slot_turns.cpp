#include "runtime/coordination/slot_turns.hpp"

#include <utility>

namespace tferry::runtime {
namespace {

/// More than can be queued, less than half the numbers there are.
constexpr std::uint32_t kFarAhead = 1U << 30;

}  // namespace

void SlotTurns::begin(std::uint32_t number, std::optional<SlotTable::Grant> grant) {
  begun_ = number;
  running_ = true;
  asked_ = false;
  grant_ = grant;
}

void SlotTurns::end(const SlotTable::Identity& self, std::int64_t now_ns) {
  running_ = false;
  const auto grant = std::exchange(grant_, std::nullopt);
  if (!grant) return;  // somebody else had the slot: there is no time for going ahead
  const bool kept = table_.give_back(self, direction_, *grant, now_ns);
  ++(kept ? figures_.used : figures_.expired);
  if (kept && !table_.others_wait(self, direction_, now_ns)) gate_.grant(open_ = begun_ + 1);
}

bool SlotTurns::look(const SlotTable::Identity& self, std::int64_t now_ns) {
  if (alone_) {
    gate_.grant(gate_.submitted() + kFarAhead);
    return false;
  }
  const std::uint32_t done = gate_.done();
  if (running_ && reached(done, begun_)) end(self, now_ns);
  const std::uint32_t next = begun_ + 1;
  if (running_ || !reached(gate_.requested(), next)) {
    // Let through ahead and not there yet: no longer, once somebody else is ready.
    if (!running_ && reached(open_, next) && table_.others_wait(self, direction_, now_ns))
      gate_.grant(open_ = begun_);
    return gate_.submitted() != done;
  }
  if (reached(open_, next)) {
    // It runs already. The slot is taken for it if nobody has it.
    begin(next, table_.take_free(self, direction_, now_ns));
    ++figures_.ahead;
    return true;
  }
  if (!asked_) {
    asked_ = true;
    asked_ns_ = now_ns;
    deadline_ns_ = now_ns + gate_.slack_ns(next);
    ++figures_.asked;
    table_.ask(self, direction_, deadline_ns_, asked_ns_);
  }
  table_.arbitrate(self.link, direction_, now_ns);
  if (const auto grant = table_.granted(self, direction_)) {
    ++figures_.granted;
    figures_.wait_ns += now_ns - asked_ns_;
    gate_.grant(open_ = next);
    begin(next, grant);
  } else if (reached(done, next)) {
    table_.withdraw(self, direction_);  // it slipped through while it was let through ahead
    begin(next, std::nullopt);
  } else if (now_ns - asked_ns_ > kMostLeases * table_.lease_ns()) {
    stuck_ = true;
  } else if (!table_.waits(self, direction_)) {
    table_.ask(self, direction_, deadline_ns_, asked_ns_);  // the grant was missed: this thread did not run
  }
  return true;
}

void SlotTurns::go_alone(const SlotTable::Identity& self, std::int64_t now_ns) {
  alone_ = true;
  table_.withdraw(self, direction_);
  if (const auto grant = std::exchange(grant_, std::nullopt))
    table_.give_back(self, direction_, *grant, now_ns);
  gate_.grant(gate_.submitted() + kFarAhead);
}

}  // namespace tferry::runtime
