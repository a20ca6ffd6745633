#include "runtime/coordination/slot_turns.hpp"

#include <utility>

namespace tferry::runtime {
namespace {

/// More than can be queued, less than half the numbers there are.
constexpr std::uint32_t kFarAhead = 1U << 30;

}  // namespace

void SlotTurns::begin(std::uint32_t number, std::optional<SlotTable::Grant> grant, std::int64_t now_ns) {
  entry_.asked_ns = asked_ ? asked_ns_ : now_ns;
  entry_.granted_ns = now_ns;
  entry_.round = gate_.round(number);
  entry_.use = asked_ && grant ? trace::SlotUse::kGranted : trace::SlotUse::kAhead;
  begun_ = number;
  running_ = true;
  asked_ = false;
  grant_ = grant;
  had_slot_ = false;
}

void SlotTurns::end(const SlotTable::Identity& self, std::int64_t now_ns) {
  running_ = false;
  const auto grant = std::exchange(grant_, std::nullopt);
  had_slot_ = grant && table_.give_back(self, direction_, *grant, now_ns);
  if (grant) ++(had_slot_ ? figures_.used : figures_.expired);
  if (log_ == nullptr) return;
  if (grant && !had_slot_) entry_.use = trace::SlotUse::kExpired;
  entry_.ended_ns = now_ns;
  entry_.bytes = gate_.bytes(begun_);
  log_->append(entry_);
}

/// Opens the gate for the transfer after the one that runs, or ran last, while that has the slot and nobody
/// else waits, and closes it again otherwise. What is past the gate already stays so.
void SlotTurns::let_ahead(const SlotTable::Identity& self, std::int64_t now_ns) {
  const std::uint32_t next = begun_ + 1;
  const bool ahead =
      (running_ ? grant_.has_value() : had_slot_) && !table_.others_wait(self, direction_, now_ns);
  const std::uint32_t open = ahead ? next : begun_;
  if (open == open_ || (reached(open_, next) && reached(gate_.requested(), next))) return;
  gate_.grant(open_ = open);
}

bool SlotTurns::look(const SlotTable::Identity& self, std::int64_t now_ns) {
  if (alone_) {
    gate_.grant(gate_.submitted() + kFarAhead);
    return false;
  }
  const std::uint32_t done = gate_.done();
  if (running_ && reached(done, begun_)) end(self, now_ns);
  if (!asked_) let_ahead(self, now_ns);
  const std::uint32_t next = begun_ + 1;
  if (running_ || !reached(gate_.requested(), next)) return gate_.submitted() != done;
  if (reached(open_, next)) {
    // It runs already. The slot is taken for it if nobody has it.
    begin(next, table_.take_free(self, direction_, now_ns), now_ns);
    ++figures_.ahead;
    return true;
  }
  if (!asked_) {
    asked_ = true;
    asked_ns_ = now_ns;
    need_ = {now_ns + gate_.slack_ns(next), gate_.round(next)};
    ++figures_.asked;
    table_.ask(self, direction_, need_, asked_ns_);
  }
  table_.arbitrate(self.link, direction_, now_ns);
  if (const auto grant = table_.granted(self, direction_)) {
    ++figures_.granted;
    figures_.wait_ns += now_ns - asked_ns_;
    gate_.grant(open_ = next);
    begin(next, grant, now_ns);
  } else if (reached(done, next)) {
    table_.withdraw(self, direction_);  // it was past the gate when that was closed again
    begin(next, std::nullopt, now_ns);
    --figures_.asked;
    ++figures_.ahead;
  } else if (now_ns - asked_ns_ > kMostLeases * table_.lease_ns()) {
    stuck_ = true;
  } else if (!table_.waits(self, direction_)) {
    table_.ask(self, direction_, need_, asked_ns_);  // the grant was missed: this thread did not run
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
