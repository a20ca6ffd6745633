#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tferry::cli {
namespace {

Table losses(const Scope& scope) {
  Table table("quality", "What is missing from the recording",
              {{"process"}, {"what"}, {"why"}, {"count", Unit::kCount}, {"detail"}});
  scope.select(
      "SELECT pid, what, reason, count, detail FROM loss LEFT JOIN process ON process.id = process_id ORDER "
      "BY "
      "detail IS NULL, count DESC, what",
      [&](trace::Statement& row) {
        std::optional<std::int64_t> pid, count;
        row.get(0, pid);
        row.get(3, count);
        table.add(count ? KnownBy::kMeasured : KnownBy::kUnknown,
                  {pid ? Cell(*pid) : Cell("-"), row.shown(1), row.shown(2), count,
                   row.is_null(4) ? Cell("-") : Cell(row.shown(4))});
      });
  if (table.rows.empty()) table.notes.emplace_back("nothing is known to be missing");
  return table;
}

std::optional<std::int64_t> meta_number(trace::Session& session, const std::string& key) {
  const auto text = session.meta(key);
  std::int64_t number = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc{} && end == text->data() + text->size() ? std::optional(number) : std::nullopt;
}

Table completeness(const Scope& scope) {
  Table table("quality", "How complete the recording is", {{"fact"}, {"value"}});
  trace::Session& session = scope.session();
  const auto add = [&table](const char* fact, std::optional<std::int64_t> value, Unit unit = Unit::kCount) {
    table.add(value ? KnownBy::kMeasured : KnownBy::kUnknown, {fact, value ? Cell(*value, unit) : Cell()});
  };
  add("spools read", meta_number(session, "spools"));
  add("records read", meta_number(session, "records"));
  if (const auto kept = meta_number(session, "keep_last_ns"))
    add("time at the end that was kept, at least", kept, Unit::kNanoseconds);
  add("calls that the hooks saw", meta_number(session, "join.calls"));
  add("... of them with a record of the GPU", meta_number(session, "join.matched_calls"));
  add("records of the GPU", meta_number(session, "join.records"));
  add("... of them with their call", meta_number(session, "join.matched_records"));
  add("places where both had to be aligned anew", meta_number(session, "join.resynchronisations"));
  add("kernels without times", session.count<trace::KernelRow>("start_ns IS NULL OR end_ns IS NULL"));
  add("copies without times", session.count<trace::MemcpyRow>("start_ns IS NULL OR end_ns IS NULL"));
  add("accesses to memory that was not recorded", session.count<trace::AccessRow>("allocation_id IS NULL"));
  add("counter samples", session.count<trace::CounterRow>());
  add("time that recording took in the job",
      scope.value<std::int64_t>("SELECT sum(end_ns - start_ns) FROM overhead"), Unit::kNanoseconds);
  add("error of the alignment of clocks",
      scope.value<std::int64_t>("SELECT max(clock_error_ns) FROM process"), Unit::kNanoseconds);
  return table;
}

}  // namespace

std::vector<Table> report_quality(const Scope& scope) { return {losses(scope), completeness(scope)}; }

}  // namespace tferry::cli
