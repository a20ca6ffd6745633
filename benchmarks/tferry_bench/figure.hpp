#pragma once

#include "benchmarks/tferry_bench/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// A figure quoted in a page: the number or word that stands right before a marker
///   <!-- claim: NAME FIELD -->
/// as in "a step takes 212 ms<!-- claim: beyond.step/gpt2_fp32/9.8GiB subject.median_ms -->" (a unit may
/// stand between).
struct Quote {
  std::string file;
  int line = 0;
  std::string figure;  ///< as written; thousands separated by commas
  std::string claim;
  std::string field;
};

/// All markers of a page. A marker of which no figure stands in front gets an empty figure.
std::vector<Quote> find_quotes(const std::string& file, const std::string& text);

/// The value of a field of a result: median, low, high, ratio.median (and .low, .high), subject.median_ms,
/// baseline.median_ms, bound_ms, predicted_ms, target, or a number at a path of the file, such as
/// checks.budget_bytes.
/// "/GiB", "/MiB" or "/GB" behind it divides bytes; "%" behind it makes per cent. Nothing when there is no
/// such field.
std::optional<double> field_value(const Result& result, const std::string& field);

/// Whether the figure as written is the value, rounded to the decimals that are written.
bool is_rounded(const std::string& figure, double value);

/// What is wrong with the quote, or an empty string. The field "verdict" is compared as a word.
std::string check_quote(const Quote& quote, const Result& result);

}  // namespace tferry::benchmarks
