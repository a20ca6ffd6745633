#pragma once

#include "runtime/coordination/slot_gate.hpp"
#include "runtime/coordination/slot_table.hpp"
#include "trace/slot_log.hpp"

#include <cstdint>
#include <optional>

namespace tferry::runtime {

/// What became of the slots of one direction of one GPU.
struct SlotFigures {
  std::int64_t asked = 0;    ///< transfers that were ready and asked
  std::int64_t granted = 0;  ///< of them, those that got the slot
  std::int64_t used = 0;     ///< of those, ended within the lease
  std::int64_t ahead = 0;    ///< passed without asking, because nobody else waited
  std::int64_t expired = 0;  ///< held longer than a lease, so that the slot was taken away
  std::int64_t wait_ns = 0;  ///< between asking and being granted
};

/// Runs one gate by the slots of the table: asks when the GPU says that a transfer is ready, grants it when
/// the slot is this rank's, gives the slot back when the GPU says that it has ended. While a rank has the
/// slot and nobody else waits, its next transfer is let through ahead, so that it does not wait for an
/// answer; that is taken back as soon as somebody waits.
///
/// On the agent's thread only. Makes no driver call and waits for nothing.
class SlotTurns {
 public:
  /// A transfer that was not granted for so many leases passes whatever the others do.
  static constexpr std::int64_t kMostLeases = 100;

  /// `log` may be null; of what goes into it only the times, bytes, round and use are filled in here, the
  /// rest is that of `whose`.
  SlotTurns(SlotGate& gate, SlotTable& table, LinkDirection direction, trace::SlotLogWriter* log = nullptr,
            const trace::SlotEntry& whose = {})
      : gate_(gate), table_(table), direction_(direction), log_(log), entry_(whose) {}

  /// Looks once. True while transfers are queued.
  bool look(const SlotTable::Identity& self, std::int64_t now_ns);
  /// From now on everything passes.
  void go_alone(const SlotTable::Identity& self, std::int64_t now_ns);
  /// A transfer waited so long that something is wrong.
  bool stuck() const { return stuck_; }
  const SlotFigures& figures() const { return figures_; }

 private:
  bool reached(std::uint32_t word, std::uint32_t number) const {
    return static_cast<std::int32_t>(word - number) >= 0;
  }
  void begin(std::uint32_t number, std::optional<SlotTable::Grant> grant, std::int64_t now_ns);
  void end(const SlotTable::Identity& self, std::int64_t now_ns);
  void let_ahead(const SlotTable::Identity& self, std::int64_t now_ns);

  SlotGate& gate_;
  SlotTable& table_;
  LinkDirection direction_;
  std::uint32_t begun_ = 0;  ///< the last transfer that was seen to run
  std::uint32_t open_ = 0;   ///< up to which the gate is open
  bool running_ = false;
  bool had_slot_ = false;  ///< to the end of the last transfer; while none runs
  bool asked_ = false;
  bool alone_ = false;
  bool stuck_ = false;
  std::int64_t asked_ns_ = 0;
  SlotTable::Need need_;
  std::optional<SlotTable::Grant> grant_;
  SlotFigures figures_;
  trace::SlotLogWriter* log_;
  trace::SlotEntry entry_;  ///< of the transfer that runs
};

}  // namespace tferry::runtime
