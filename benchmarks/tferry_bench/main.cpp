// tferry-bench: makes and checks the files that every figure in README and docs comes from. Needs no GPU.
#include "benchmarks/tferry_bench/check.hpp"
#include "benchmarks/tferry_bench/record.hpp"
#include "benchmarks/tferry_bench/repository.hpp"
#include "benchmarks/tferry_bench/summary.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

using tferry::benchmarks::Repository;

int run_check(const Repository& repository) {
  const auto problems = tferry::benchmarks::check(repository);
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  if (problems.empty()) {
    fmt::print("figures ok: {} results, {} targets, {} pages\n", repository.results.size(),
               repository.targets.size(), repository.pages.size());
    return 0;
  }
  fmt::print(stderr, "tferry-bench: {} problems with the figures\n", problems.size());
  return 1;
}

int run_record(const Repository& repository, const std::string& from, const std::string& git, bool missing) {
  if (from.empty() && !missing) throw std::runtime_error("record: say --from RAW.json or --missing");
  std::vector<tferry::benchmarks::Result> results;
  if (missing) results = tferry::benchmarks::missing_results(repository);
  if (!from.empty()) {
    try {
      for (auto& result : results_from_raw(tferry::benchmarks::read_json(from), repository, git))
        results.push_back(result);
    } catch (const tferry::benchmarks::BadResult& error) {
      throw std::runtime_error(from + ": " + error.what());
    }
  }
  for (const auto& result : results) {
    write_result(repository, result);
    fmt::print("{} {}\n", tferry::benchmarks::file_name(result.claim()), result.verdict());
  }
  return 0;
}

int run_summary(const Repository& repository, const std::string& markdown) {
  for (const std::string& problem : repository.problems) fmt::print(stderr, "tferry-bench: {}\n", problem);
  if (markdown.empty()) {
    fmt::print("{}", summary_table(repository));
    return 0;
  }
  std::ofstream out(markdown, std::ios::binary);
  out << summary_markdown(repository);
  out.close();
  if (!out) throw std::runtime_error(markdown + ": cannot be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Makes and checks the files that every figure in README and docs comes from");
  app.require_subcommand(1);
  std::string root = ".";
  app.add_option("--root", root, "The repository")->capture_default_str();
  app.add_subcommand(
      "check", "Recompute every median, interval and verdict; compare README and docs; exit 1 if wrong");
  auto* record = app.add_subcommand("record", "Make result files from a measuring script's raw file");
  std::string from;
  std::string git;
  bool missing = false;
  record->add_option("--from", from, "Raw file (schema tferry.raw/1)");
  record->add_option("--git", git, "Revision that was measured, where the raw file names none");
  record->add_flag("--missing", missing, "Write a file that says not_run for every target that has none");
  auto* summary = app.add_subcommand("summary", "Print all results");
  std::string markdown;
  summary->add_option("--markdown", markdown, "Write a page with markers there instead");
  CLI11_PARSE(app, argc, argv);
  try {
    const Repository repository = tferry::benchmarks::read_repository(root);
    if (*record) return run_record(repository, from, git, missing);
    if (*summary) return run_summary(repository, markdown);
    return run_check(repository);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tferry-bench: {}\n", error.what());
    return 1;
  }
}
