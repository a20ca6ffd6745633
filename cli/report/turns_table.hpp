#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

namespace tferry::cli {

/// The turns that ranks took on the links that they share, from table slot_use: a row for each GPU of each
/// process, and what it waited. Without rows in a session of a run without them.
Table turns_table(const Scope& scope);

/// Who waited for whose turns, by link, direction and pair of ranks, from table slot: time between asking and
/// getting a turn in which the other rank moved. Without rows where no turns were recorded.
Table turn_waits_table(const Scope& scope);

}  // namespace tferry::cli
