#include "benchmarks/tferry_bench/figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

namespace tferry::benchmarks {
namespace {

constexpr double kRoundingSlack = 1e-9;  // relative: half-way cases may be written either way

std::string without_commas(std::string figure) {
  figure.erase(std::remove(figure.begin(), figure.end(), ','), figure.end());
  return figure;
}

/// The last number or word of what stands before a marker; a unit of letters, per cent or "x" behind a number
/// is left out.
std::string figure_before(const std::string& before, const std::string& field) {
  std::smatch match;
  if (field == "verdict") {
    static const std::regex kWord(R"(([a-z_]+)\W*$)");
    return std::regex_search(before, match, kWord) ? match[1].str() : "";
  }
  static const std::regex kNumber(R"((?:^|[^\d.,])(-?\d[\d,]*(?:\.\d+)?)\s*(?:[A-Za-zµ/]+|%|×)?[*`]*\s*$)");
  return std::regex_search(before, match, kNumber) ? match[1].str() : "";
}

std::optional<double> median_ms(const Result& result, const char* side) {
  const auto found = result.json().find(side);
  if (found == result.json().end() || !found->is_object()) return std::nullopt;
  const auto samples = found->find("samples_ns");
  if (samples == found->end() || !samples->is_array() || samples->empty()) return std::nullopt;
  return median(samples->get<std::vector<double>>()) / 1e6;
}

std::optional<double> at_path(const Result& result, const std::string& field) {
  const nlohmann::json* node = &result.json();
  std::size_t start = 0;
  while (true) {
    const std::size_t dot = field.find('.', start);
    const std::string name = field.substr(start, dot == std::string::npos ? dot : dot - start);
    if (!node->is_object()) return std::nullopt;
    const auto found = node->find(name);
    if (found == node->end()) return std::nullopt;
    node = &*found;
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  if (!node->is_number()) return std::nullopt;
  return node->get<double>();
}

std::optional<double> plain_value(const Result& result, std::string field) {
  if (field.rfind("ratio.", 0) == 0) field = field.substr(6);
  const auto interval = result.measured();
  if (field == "median" || field == "low" || field == "high") {
    if (!interval) return std::nullopt;
    return field == "median" ? interval->median : field == "low" ? interval->low : interval->high;
  }
  if (field == "subject.median_ms") return median_ms(result, "subject");
  if (field == "baseline.median_ms") return median_ms(result, "baseline");
  if (field == "target") return result.target() ? std::optional(result.target()->value) : std::nullopt;
  if (field == "bound_ms" || field == "predicted_ms") {
    const auto nanoseconds = at_path(result, field == "bound_ms" ? "bound_ns" : "predicted_ns");
    return nanoseconds ? std::optional(*nanoseconds / 1e6) : std::nullopt;
  }
  return at_path(result, field);
}

}  // namespace

std::vector<Quote> find_quotes(const std::string& file, const std::string& text) {
  static const std::regex kMarker(R"(<!--\s*claim:\s*(\S+)\s+(\S+)\s*-->)");
  std::vector<Quote> quotes;
  int line_number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    ++line_number;
    for (std::sregex_iterator marker(line.begin(), line.end(), kMarker), none; marker != none; ++marker) {
      const std::string field = (*marker)[2];
      const std::string before = line.substr(0, static_cast<std::size_t>(marker->position()));
      quotes.push_back({file, line_number, figure_before(before, field), (*marker)[1], field});
    }
  }
  return quotes;
}

std::optional<double> field_value(const Result& result, const std::string& field) {
  static const std::pair<const char*, double> kUnits[] = {
      {"/GiB", 1.0 / (1 << 30)}, {"/MiB", 1.0 / (1 << 20)}, {"/GB", 1e-9}, {"%", 100.0}};
  for (const auto& [suffix, factor] : kUnits) {
    const std::string unit = suffix;
    if (field.size() > unit.size() && field.compare(field.size() - unit.size(), unit.size(), unit) == 0) {
      const auto value = plain_value(result, field.substr(0, field.size() - unit.size()));
      return value ? std::optional(*value * factor) : std::nullopt;
    }
  }
  return plain_value(result, field);
}

bool is_rounded(const std::string& figure, double value) {
  const std::string plain = without_commas(figure);
  char* end = nullptr;
  const double written = std::strtod(plain.c_str(), &end);
  if (plain.empty() || end != plain.c_str() + plain.size()) return false;
  const auto point = plain.find('.');
  const auto decimals = point == std::string::npos ? 0 : static_cast<int>(plain.size() - point - 1);
  return std::abs(written - value) <= 0.5 * std::pow(10.0, -decimals) + kRoundingSlack * std::abs(value);
}

std::string check_quote(const Quote& quote, const Result& result) {
  if (quote.figure.empty()) return "no figure stands before the marker of " + quote.claim + " " + quote.field;
  if (quote.field == "verdict") {
    if (quote.figure == result.verdict()) return "";
    return "says " + quote.figure + ", but the verdict of " + quote.claim + " is " + result.verdict();
  }
  const auto value = field_value(result, quote.field);
  if (!value) return quote.claim + " has no value " + quote.field;
  if (is_rounded(quote.figure, *value)) return "";
  return "says " + quote.figure + ", but " + quote.field + " of " + quote.claim + " is " +
         nlohmann::json(*value).dump();
}

}  // namespace tferry::benchmarks
