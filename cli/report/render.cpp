#include "cli/report/render.hpp"

#include "cli/byte_size.hpp"
#include "cli/failure.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace tferry::cli {
namespace {

std::string shown_time(double ns) {
  const double size = std::abs(ns);
  if (size >= 10e9) return fmt::format("{:.2f} s", ns / 1e9);
  if (size >= 1e6) return fmt::format("{:.2f} ms", ns / 1e6);
  if (size >= 1e3) return fmt::format("{:.2f} us", ns / 1e3);
  return fmt::format("{:.0f} ns", ns);
}

std::string shown_number(double value, Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return shown_time(value);
    case Unit::kBytes:
      return format_bytes(static_cast<std::int64_t>(value));
    case Unit::kBytesPerSecond:
      return fmt::format("{:.2f} GB/s", value / 1e9);
    case Unit::kHertz:
      return fmt::format("{:.3f} GHz", value / 1e9);
    case Unit::kShare:
      return fmt::format("{:.1f} %", 100 * value);
    default:
      return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                                  : fmt::format("{:.6g}", value);
  }
}

bool is_text(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(), [column](const Row& row) {
    return std::holds_alternative<std::string>(row.cells[column].value);
  });
}

bool mixed_knowledge(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&table](const Row& row) { return row.known_by != table.rows.front().known_by; });
}

bool has_own_units(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) {
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [](const Cell& cell) { return cell.unit.has_value(); });
  });
}

Unit unit_of(const Row& row) {
  for (const Cell& cell : row.cells) {
    if (cell.unit) return *cell.unit;
  }
  return Unit::kNone;
}

/// Heads and cells as text; known_by is a column where it differs between rows.
std::vector<std::vector<std::string>> shown_cells(const Table& table) {
  const bool knowledge = mixed_knowledge(table);
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : table.columns) {
    std::string head = column.name;
    std::replace(head.begin(), head.end(), '_', ' ');
    lines.front().push_back(head);
  }
  if (knowledge) lines.front().emplace_back("known by");
  for (const Row& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      line.push_back(shown(row.cells[i], table.columns[i].unit));
    if (knowledge) line.emplace_back(known_by_name(row.known_by));
  }
  return lines;
}

/// Code points, near enough to what a terminal shows.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string heading(const Table& table) {
  if (table.rows.empty() || mixed_knowledge(table)) return table.title;
  return fmt::format("{} ({})", table.title, known_by_name(table.rows.front().known_by));
}

std::string to_text(const Table& table) {
  std::string text = heading(table) + "\n";
  if (table.rows.empty()) {
    text += "  nothing\n";
  } else {
    const auto lines = shown_cells(table);
    std::vector<std::size_t> widths(lines.front().size());
    for (const auto& line : lines) {
      for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
    }
    for (const auto& line : lines) {
      std::string row = " ";
      for (std::size_t i = 0; i < line.size(); ++i) {
        const std::string padding(widths[i] - width_of(line[i]), ' ');
        const bool left = i >= table.columns.size() || is_text(table, i);
        row += " " + (left ? line[i] + padding : padding + line[i]) + " ";
      }
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + "\n";
    }
  }
  for (const std::string& note : table.notes) text += "  note: " + note + "\n";
  return text;
}

std::string markdown_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string to_markdown(const Table& table) {
  std::string text = "## " + heading(table) + "\n\n";
  const auto lines = shown_cells(table);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += "|";
    for (const std::string& cell : lines[i]) text += " " + markdown_cell(cell) + " |";
    text += "\n";
    if (i > 0) continue;
    text += "|";
    for (std::size_t c = 0; c < lines[i].size(); ++c) {
      text += c < table.columns.size() && !is_text(table, c) ? " ---: |" : " --- |";
    }
    text += "\n";
  }
  for (const std::string& note : table.notes) text += "\nNote: " + note + "\n";
  return text;
}

std::string separated_cell(const std::string& text, char separator) {
  if (separator == '\t') {
    std::string flat = text;
    std::replace_if(
        flat.begin(), flat.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return flat;
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string to_separated(const Table& table, char separator) {
  const bool units = has_own_units(table);
  std::string text;
  for (const Column& column : table.columns) text += separated_cell(column.name, separator) + separator;
  if (units) text += std::string("unit") + separator;
  text += "known_by\n";
  for (const Row& row : table.rows) {
    for (const Cell& cell : row.cells) text += separated_cell(plain(cell), separator) + separator;
    if (units) text += std::string(unit_name(unit_of(row))) + separator;
    text += std::string(known_by_name(row.known_by)) + "\n";
  }
  return text;
}

using Json = nlohmann::ordered_json;

Json to_json(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell.value)) return *integer;
  if (const auto* real = std::get_if<double>(&cell.value)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  return nullptr;
}

Json to_json(const Table& table) {
  Json json = {
      {"name", table.name}, {"title", table.title}, {"columns", Json::array()}, {"rows", Json::array()}};
  for (const Column& column : table.columns) {
    json["columns"].push_back({{"name", column.name}, {"unit", unit_name(column.unit)}});
  }
  const bool units = has_own_units(table);
  for (const Row& row : table.rows) {
    Json entry = Json::object();
    for (std::size_t i = 0; i < row.cells.size(); ++i) entry[table.columns[i].name] = to_json(row.cells[i]);
    if (units) entry["unit"] = unit_name(unit_of(row));
    entry["known_by"] = known_by_name(row.known_by);
    json["rows"].push_back(std::move(entry));
  }
  json["notes"] = table.notes;
  return json;
}

}  // namespace

Format parse_format(std::string_view text) {
  if (text == "table") return Format::kTable;
  if (text == "json") return Format::kJson;
  if (text == "csv") return Format::kCsv;
  if (text == "tsv") return Format::kTsv;
  if (text == "md") return Format::kMarkdown;
  throw Failure(fmt::format("--format: {} is unknown", text), "use table, json, csv, tsv or md");
}

std::string shown(const Cell& cell, Unit unit) {
  const Unit own = cell.unit.value_or(unit);
  if (const auto* integer = std::get_if<std::int64_t>(&cell.value)) {
    return own == Unit::kNone || own == Unit::kCount ? std::to_string(*integer)
                                                     : shown_number(static_cast<double>(*integer), own);
  }
  if (const auto* real = std::get_if<double>(&cell.value)) return shown_number(*real, own);
  if (const auto* text = std::get_if<std::string>(&cell.value)) {
    std::string line = *text;
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return line;
  }
  return "unknown";
}

std::string plain(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&cell.value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  return "";
}

std::string render(const std::vector<Table>& tables, Format format, const std::string& session) {
  if (format == Format::kJson) {
    Json json = {{"schema", "tferry.report/1"}, {"session", session}, {"tables", Json::array()}};
    for (const Table& table : tables) json["tables"].push_back(to_json(table));
    // A recorded name may hold bytes that are no UTF-8.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  std::string text;
  for (const Table& table : tables) {
    if (!text.empty()) text += "\n";
    switch (format) {
      case Format::kTable:
        text += to_text(table);
        break;
      case Format::kMarkdown:
        text += to_markdown(table);
        break;
      default:
        text += to_separated(table, format == Format::kTsv ? '\t' : ',');
    }
  }
  return text;
}

}  // namespace tferry::cli
