#include "cli/commands/report_options.hpp"

#include "cli/commands/common_options.hpp"
#include "cli/failure.hpp"
#include "cli/output_file.hpp"
#include "cli/report/render.hpp"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

namespace tferry::cli {

void AnswerOptions::add_to(CLI::App& command) {
  command.add_option("--format", format, "How to print: table, json, csv, tsv, md")
      ->check(CLI::IsMember({"table", "json", "csv", "tsv", "md"}))
      ->capture_default_str();
}

void AnswerOptions::answer(const std::vector<Table>& tables, const std::string& session,
                           const CommonOptions& common) const {
  std::optional<OutputFile> json;
  if (!common.json_file.empty()) json.emplace(common.json_file, common.force);
  const std::string text = render(tables, parse_format(format), session);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Failure("standard output cannot be written: " + std::generic_category().message(errno),
                  "make room where it goes");
  }
  if (json) json->publish(render(tables, Format::kJson, session));
}

void add_scope_options(CLI::App& command, ScopeOptions& options) {
  command.add_option("--gpu", options.gpu, "Only this GPU of the session, from 0");
  command.add_option("--rank", options.rank, "Only this rank");
  command.add_option("--from", options.from, "Only from this time after the start on: 1.5s, 200ms")
      ->type_name("TIME");
  command.add_option("--to", options.to, "Only up to this time after the start")->type_name("TIME");
  command.add_option("--top", options.top, "Rows of long tables, 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace tferry::cli
