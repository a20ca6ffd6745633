#include "benchmarks/tferry_bench/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tferry::benchmarks {
namespace {

std::string unit(const Result& result) {
  if (result.metric() == Metric::kTime) return " ms";
  const bool times = result.metric() == Metric::kRatio || result.metric() == Metric::kSlowdown;
  return times ? "x" : "";
}

std::string target_text(const Result& result) {
  return result.target() ? fmt::format("{} {:.4g}", result.target()->op, result.target()->value) : "-";
}

}  // namespace

std::string summary_table(const Repository& repository) {
  std::size_t width = 5;
  for (const auto& [claim, result] : repository.results) width = std::max(width, claim.size());
  std::string text = fmt::format("{:<{}}  {:>10}  {:>22}  {:>3}  {:>10}  {:<13}  {}\n", "claim", width,
                                 "median", "interval", "n", "target", "verdict", "kind");
  for (const auto& [claim, result] : repository.results) {
    const auto interval = result.measured();
    const std::string median = interval ? fmt::format("{:.4g}{}", interval->median, unit(result)) : "-";
    const std::string range = interval ? fmt::format("{:.4g} to {:.4g} ({:.0f}%)", interval->low,
                                                     interval->high, interval->coverage * 100)
                                       : "-";
    text += fmt::format("{:<{}}  {:>10}  {:>22}  {:>3}  {:>10}  {:<13}  {}\n", claim, width, median, range,
                        result.metric_samples().size(), target_text(result), result.verdict(), result.kind());
  }
  return text;
}

std::string summary_markdown(const Repository& repository) {
  std::string text =
      "# Figures\n\n"
      "Made by `tferry-bench summary --markdown` from `benchmarks/results/`, checked by `tferry-bench "
      "check`. A ratio\n"
      "is the baseline's time over the subject's, so above 1 the subject is faster. The interval is that of\n"
      "order statistics, which with fewer than six samples covers less than 95 %.\n\n"
      "| claim | median | low | high | samples | target | verdict | kind | note |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [claim, result] : repository.results) {
    const auto interval = result.measured();
    const auto figure = [&, &name = claim](double value, const char* field) {
      return fmt::format("{:.3f}<!-- claim: {} {} -->", value, name, field);
    };
    const std::string figures =
        interval ? fmt::format("{} | {} | {}", figure(interval->median, "median"),
                               figure(interval->low, "low"), figure(interval->high, "high"))
                 : "- | - | -";
    text += fmt::format("| `{}` | {} | {} | {} | {}<!-- claim: {} verdict --> | {} | {} |\n", claim, figures,
                        result.metric_samples().size(), target_text(result), result.verdict(), claim,
                        result.kind(), result.json().value("note", ""));
  }
  return text;
}

}  // namespace tferry::benchmarks
