#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tferry::cli {

/// What a number counts, which renderers for people scale by. JSON, CSV and TSV carry the plain number.
enum class Unit { kNone, kCount, kNanoseconds, kBytes, kBytesPerSecond, kShare, kHertz };
/// "ns", "bytes", "bytes/s", "share" (0 to 1), "hertz", "count" or "".
const char* unit_name(Unit unit);

/// How a figure is known: the common form in which every report says it.
enum class KnownBy { kMeasured, kSimulated, kEmulated, kLearned, kAssumed, kUnknown };
const char* known_by_name(KnownBy known_by);
/// The reverse, for a session's known_by columns; kUnknown for any other text.
KnownBy known_by_of(const std::string& name);

/// One figure or name. Empty: unknown, never to be shown as 0. A unit here wins over that of the column.
struct Cell {
  std::variant<std::monostate, std::int64_t, double, std::string> value = {};
  std::optional<Unit> unit = {};

  Cell() = default;
  Cell(std::int64_t number) : value(number) {}
  Cell(double number) : value(number) {}
  Cell(std::string text) : value(std::move(text)) {}
  Cell(const char* text) : value(std::string(text)) {}
  Cell(std::int64_t number, Unit of) : value(number), unit(of) {}
  Cell(double number, Unit of) : value(number), unit(of) {}
  template <typename Number>
  Cell(const std::optional<Number>& number) {
    if (number) value = *number;
  }

  bool known() const { return !std::holds_alternative<std::monostate>(value); }
};

struct Column {
  std::string name;  ///< snake_case, the key in JSON and the head in CSV
  Unit unit = Unit::kNone;
};

struct Row {
  std::vector<Cell> cells;  ///< as many as there are columns
  KnownBy known_by = KnownBy::kMeasured;
};

/// One table of a report.
struct Table {
  std::string name;   ///< of the report that it belongs to, such as "kernels"
  std::string title;  ///< a line for people
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;  ///< what a reader has to know: what is unknown and how to learn it

  Table(std::string its_name, std::string its_title, std::vector<Column> its_columns)
      : name(std::move(its_name)), title(std::move(its_title)), columns(std::move(its_columns)) {}
  void add(KnownBy known_by, std::vector<Cell> cells) { rows.push_back({std::move(cells), known_by}); }
};

}  // namespace tferry::cli
