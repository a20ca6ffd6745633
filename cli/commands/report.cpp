#include "cli/commands/report.hpp"

#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/report/memory_by.hpp"
#include "cli/report/reports.hpp"
#include "cli/session/choose_session.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace tferry::cli {
namespace {

bool is_report(const std::string& word) {
  return std::any_of(report_kinds().begin(), report_kinds().end(),
                     [&word](const ReportKind& kind) { return word == kind.name; });
}

/// A word that names no report is the session, wherever it stands.
bool is_session(const std::string& word) {
  std::error_code ignored;
  return !is_report(word) && (word.ends_with(".tferry") || word.find('/') != std::string::npos ||
                              std::filesystem::exists(word, ignored));
}

}  // namespace

CLI::App* ReportCommand::add_to(CLI::App& program) {
  CLI::App* app = program.add_subcommand("report", "Answer questions about a session");
  std::string list = "The reports:\n";
  for (const ReportKind& kind : report_kinds()) list += fmt::format("  {:<10} {}\n", kind.name, kind.what);
  app->footer(list + "Without a session: the newest *.tferry in this folder.");
  app->add_option("NAME", words_, "Reports, and the session")->type_name("NAME... [SESSION]");
  app->add_option(
         "--by", memory_by_,
         "Of report memory: what is alive at the peak, summed by category, module or name, or several "
         "of them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(memory_groups()));
  app->add_option("--at", memory_at_, "With --by: at which moment, peak or so long after the start (1.5s)")
      ->type_name("TIME")
      ->capture_default_str();
  answer_.add_to(*app);
  add_scope_options(*app, scope_);
  common_.add_to(*app, "the answer");
  return app;
}

int ReportCommand::execute() const {
  const Console console(common_.verbosity());
  std::string named;
  std::vector<const ReportKind*> kinds;
  for (const std::string& word : words_) {
    if (!is_session(word)) {
      kinds.push_back(&find_report(word));
    } else if (named.empty()) {
      named = word;
    } else {
      throw Failure(fmt::format("{} and {}: a report is about one session", named, word), "name one of them");
    }
  }
  if (kinds.empty()) kinds.push_back(&find_report(memory_by_.empty() ? "summary" : "memory"));
  const bool memory = std::any_of(kinds.begin(), kinds.end(),
                                  [](const ReportKind* kind) { return kind->make == &report_memory; });
  if (!memory_by_.empty() && !memory)
    throw Failure("--by is for report memory", "write report memory --by category");
  if (memory_at_ != "peak" && memory_by_.empty())
    throw Failure("--at is for report memory --by", "write report memory --at 1.5s --by category");
  const SessionChoice choice = choose_session(named);
  if (choice.chosen_for_you)
    console.notice(fmt::format("session: {} (the newest here)", choice.path.string()));
  trace::Session session = trace::Session::open(choice.path.string());
  const Scope scope(session, scope_);
  std::vector<Table> tables;
  for (const ReportKind* kind : kinds) {
    if (!memory_by_.empty() && kind->make == &report_memory) {
      for (Table& table : report_memory_by(scope, memory_by_, memory_at_)) tables.push_back(std::move(table));
      continue;
    }
    for (Table& table : kind->make(scope)) tables.push_back(std::move(table));
  }
  answer_.answer(tables, choice.path.string(), common_);
  return kOk;
}

}  // namespace tferry::cli
