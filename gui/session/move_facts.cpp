#include "gui/session/move_facts.hpp"

#include "gui/session/lane_counts.hpp"
#include "gui/session/moves_lane.hpp"
#include "gui/time/time_text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

namespace tferry::gui {
namespace {

QString word(trace::TransferKind kind) {
  constexpr std::array kWords = {"Movement", "Eviction",     "Fetch", "Drop of clean contents",
                                 "Discard",  "Read in place"};
  const auto index = static_cast<std::size_t>(kind);
  return QString::fromUtf8(kWords[index < kWords.size() ? index : 0]);
}

void add(EventFacts& facts, const char* name, const QString& value) {
  facts.facts.emplace_back(QString::fromUtf8(name), value);
}

void add_times(EventFacts& facts, const Overview& overview, TimeRange ran) {
  add(facts, "begins", moment_text(ran.from_ns - overview.origin_ns, 1));
  add(facts, "takes", duration_text(ran.length()));
}

void add_bytes(EventFacts& facts, std::int64_t bytes, std::int64_t offset, std::int64_t ns) {
  add(facts, "bytes", bytes_text(static_cast<double>(bytes)));
  if (offset > 0) add(facts, "offset", bytes_text(static_cast<double>(offset)));
  if (ns > 0) add(facts, "rate", rate_text(static_cast<double>(bytes) / static_cast<double>(ns) * 1e9));
}

/// "layer1.weight", "allocation 12".
QString name_of(trace::Session& session, std::int64_t allocation_id) {
  QString name;
  select(
      session,
      "SELECT coalesce((SELECT coalesce(tensor.name, 'tensor ' || tensor.id) FROM tensor_allocation JOIN "
      "tensor ON tensor.id = tensor_id WHERE allocation_id = allocation.id LIMIT 1), (SELECT name FROM "
      "allocation_name WHERE allocation_id = allocation.id LIMIT 1), 'allocation ' || allocation) FROM "
      "allocation WHERE id = ?",
      [&](trace::Statement& row) { name = QString::fromStdString(row.shown(0)); }, allocation_id);
  return name;
}

TimeRange ran(trace::Session& session, const trace::SwapRow& swap) {
  if (swap.memcpy_id) {
    const auto copy = session.first<trace::MemcpyRow>("WHERE id = ?", *swap.memcpy_id);
    if (copy && copy->start_ns && copy->end_ns) return {*copy->start_ns, *copy->end_ns};
  }
  return {swap.submit_ns, swap.submit_ns};
}

/// "12: sgemm", the operation at a position of an iteration, as the plan counts them.
QString operation_name(trace::Session& session, const NameBook& names, std::int64_t iteration_id,
                       std::int64_t position) {
  QString text = QString::number(position);
  select(
      session,
      "SELECT name_id, operation.kind FROM iteration JOIN operation ON operation.process_id = "
      "iteration.process_id AND operation = first_operation + ? WHERE iteration.id = ?",
      [&](trace::Statement& row) {
        const QString name =
            row.is_null(0) ? QString::fromStdString(row.shown(1)) : names.brief(row.integer(0));
        text += QStringLiteral(": ") + name;
      },
      position, iteration_id);
  return text;
}

/// Of the fetches that the operation of a wait needed and that were under way meanwhile, the last ones first.
void add_fetches(trace::Session& session, EventFacts& facts, const trace::GateRow& gate) {
  constexpr int kMost = 8;
  select(
      session,
      "SELECT allocation_id, memcpy.end_ns FROM swap JOIN memcpy ON memcpy.id = memcpy_id WHERE swap.kind = "
      "2 "
      "AND swap.process_id = ?1 AND memcpy.start_ns < ?4 AND memcpy.end_ns > ?3 AND (swap.operation = ?2 OR "
      "allocation_id IN (SELECT allocation_id FROM access WHERE process_id = ?1 AND operation = ?2)) ORDER "
      "BY "
      "2 DESC LIMIT ?5",
      [&](trace::Statement& row) {
        const std::int64_t until = std::min(row.integer(1), gate.end_ns);
        add(facts, "for",
            name_of(session, row.integer(0)) + QStringLiteral(", there after ") +
                duration_text(until - gate.start_ns));
      },
      gate.process_id, gate.operation, gate.start_ns, gate.end_ns, kMost);
}

}  // namespace

EventFacts wait_facts(trace::Session& session, const NameBook& names, const Overview& overview,
                      EventRef event) {
  EventFacts facts;
  facts.event = event;
  const auto gate = session.first<trace::GateRow>("WHERE rowid = ?", event.id);
  if (!gate) return facts;
  facts.title = QStringLiteral("Wait for memory");
  add_times(facts, overview, {gate->start_ns, gate->end_ns});
  add(facts, "who waits", gate->on_gpu != 0 ? QStringLiteral("the GPU") : QStringLiteral("the program"));
  QString operation = count_text(gate->operation);
  if (const auto kernel = session.first<trace::KernelRow>("WHERE process_id = ? AND operation = ?",
                                                          gate->process_id, gate->operation);
      kernel && kernel->name_id)
    operation += QStringLiteral(": ") + names.brief(*kernel->name_id);
  add(facts, "with operation", operation);
  const std::size_t known = facts.facts.size();
  add_fetches(session, facts, *gate);
  if (facts.facts.size() == known && gate->fetch_bytes == 0)
    add(facts, "for", QStringLiteral("room: what was in its place had to leave"));
  if (gate->fetch_bytes > 0) add(facts, "fetched for it", bytes_text(static_cast<double>(gate->fetch_bytes)));
  if (gate->room_bytes > 0) add(facts, "left for it", bytes_text(static_cast<double>(gate->room_bytes)));
  return facts;
}

QString than_planned(std::int64_t later_ns) {
  if (later_ns == 0) return QStringLiteral("when it was planned");
  return duration_text(std::abs(later_ns)) +
         (later_ns > 0 ? QStringLiteral(" after it was planned") : QStringLiteral(" before it was planned"));
}

EventFacts actual_move_facts(trace::Session& session, const Overview& overview, EventRef event) {
  EventFacts facts;
  facts.event = event;
  const auto swap = session.first<trace::SwapRow>("WHERE id = ?", event.id);
  if (!swap) return facts;
  const QString name = swap->allocation_id ? name_of(session, *swap->allocation_id) : QString();
  facts.tensor = name;
  facts.title = word(swap->kind) + (name.isEmpty() ? QString() : QStringLiteral(" of ") + name);
  const TimeRange range = ran(session, *swap);
  add_times(facts, overview, range);
  add_bytes(facts, swap->bytes, swap->offset, range.length());
  add(facts, "submitted", moment_text(swap->submit_ns - overview.origin_ns, 1));
  if (swap->wait_ns.value_or(0) > 0) add(facts, "submitting waited", duration_text(*swap->wait_ns));
  add(facts, "for operation",
      swap->operation ? count_text(*swap->operation) : QStringLiteral("ahead of need"));
  if (const std::int64_t late = late_ns(session, event.id); late > 0)
    add(facts, "late by", duration_text(late) + QStringLiteral(": an operation waited so long"));
  const std::int64_t plan = shown_plan(overview, swap->process_id, swap->device_id.value_or(0));
  if (plan == 0 || !swap->allocation_id) return facts;
  const auto planned =
      PlanTimes(session, plan).nearest(*swap->allocation_id, swap->kind, swap->offset, range.from_ns);
  if (planned) {
    add(facts, "begins", than_planned(range.from_ns - planned->start_ns));
    add(facts, "is done", than_planned(range.to_ns - planned->end_ns));
  } else {
    add(facts, "planned", QStringLiteral("no: plan %1 does not move it so").arg(plan));
  }
  return facts;
}

EventFacts planned_move_facts(trace::Session& session, const NameBook& names, const Overview& overview,
                              EventRef event) {
  EventFacts facts;
  facts.event = event;
  std::int64_t plan = 0, process = 0;
  select(
      session,
      "SELECT plan_id, process_id FROM plan_action JOIN plan ON plan.id = plan_id WHERE plan_action.id = ?",
      [&](trace::Statement& row) {
        plan = row.integer(0);
        process = row.integer(1);
      },
      event.id & 0xffffffff);
  const auto move = PlanTimes(session, plan).find(event.id);
  if (!move) return facts;
  const QString name = move->tensor.empty() ? QStringLiteral("tensor %1").arg(move->tensor_id)
                                            : QString::fromStdString(move->tensor);
  facts.tensor = name;
  facts.title = QStringLiteral("Planned: ") + word(move->kind).toLower() + QStringLiteral(" of ") + name;
  add_times(facts, overview, {move->start_ns, move->end_ns});
  add_bytes(facts, move->bytes, move->offset, 0);
  add(facts, "plan", QString::number(plan));
  add(facts, "after operation", operation_name(session, names, move->iteration_id, move->after_position));
  add(facts, comes_in(move->kind) ? "before operation" : "may come back from",
      operation_name(session, names, move->iteration_id, move->before_position));
  if (move->needed_ns > 0) {
    const std::int64_t spare = move->needed_ns - move->end_ns;
    add(facts, spare >= 0 ? "to spare" : "too late by", duration_text(std::abs(spare)));
  }
  const std::int64_t actual = actual_move(session, *move);
  if (const auto swap = session.first<trace::SwapRow>("WHERE id = ?", actual)) {
    const TimeRange range = ran(session, *swap);
    add(facts, "began", than_planned(range.from_ns - move->start_ns));
    add(facts, "was done", than_planned(range.to_ns - move->end_ns));
    if (const std::int64_t late = late_ns(session, actual); late > 0)
      add(facts, "late by", duration_text(late) + QStringLiteral(": an operation waited so long"));
  } else {
    const bool any = session.integer("SELECT count(*) FROM (SELECT 1 FROM swap WHERE process_id = " +
                                     std::to_string(process) + " LIMIT 1)") > 0;
    add(facts, "actually",
        any ? QStringLiteral("not carried out in this iteration")
            : QStringLiteral("unknown: nothing was moved while this was recorded"));
  }
  return facts;
}

}  // namespace tferry::gui
