#pragma once

#include "cli/report/table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tferry::cli {

enum class Format { kTable, kJson, kCsv, kTsv, kMarkdown };
/// table, json, csv, tsv, md. Throws Failure otherwise.
Format parse_format(std::string_view text);

/// All tables in one form, ending with a line break.
/// - table: for people; figures scaled (1.23 ms, 4.00 GiB), unknown ones as "unknown".
/// - md: the same as Markdown tables.
/// - json: {"schema": "tferry.report/1", "session": ..., "tables": [{name, title, columns: [{name, unit}],
/// rows:
///   [{column: value, ..., "known_by": ...}], notes}]}; plain numbers, unknown ones null. A cell with a unit
///   of its own (facts) has its row's "unit".
/// - csv (RFC 4180), tsv: plain numbers, unknown ones empty, known_by last; several tables are set apart by
/// an
///   empty line.
std::string render(const std::vector<Table>& tables, Format format, const std::string& session);

/// A cell as people read it.
std::string shown(const Cell& cell, Unit unit);
/// A cell as a plain value: digits, or the text; empty if unknown.
std::string plain(const Cell& cell);

}  // namespace tferry::cli
