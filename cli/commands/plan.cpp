#include "cli/commands/plan.hpp"

#include "analyzer/planner/plan_json.hpp"
#include "analyzer/session/flat_plan.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "analyzer/session/stored_plan.hpp"
#include "cli/byte_size.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/output_file.hpp"
#include "cli/plan/exec_planner.hpp"
#include "cli/plan/open_plan.hpp"
#include "cli/plan/plan_diff.hpp"
#include "cli/plan/plan_reference.hpp"
#include "cli/report/reports.hpp"
#include "cli/session/edit_session.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

PlanReference find_and_tell(const std::string& text, const Console& console) {
  PlanReference reference = find_plan(text);
  if (reference.chosen_for_you)
    console.notice(fmt::format("session: {} (the newest here)", reference.session.string()));
  return reference;
}

std::string read_text(const std::string& file) {
  constexpr std::uintmax_t kLargest = 256 << 20;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) {
    throw Failure(
        fmt::format("{}: {}", file, error ? error.message() : std::generic_category().message(errno)),
        "name a file that tferry plan export wrote");
  }
  if (size > kLargest)
    throw Failure(file + ": is too large for a plan", "name a file that tferry plan export wrote");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The plan in the file in place of the stored one; every fault is told.
void replace(analyzer::StoredPlan& stored, const std::string& file) {
  require_sound(analyzer::replace_plan(stored, read_text(file)), file);
}

}  // namespace

CLI::App* PlanCommand::add_verb(const char* name, const char* what) {
  CLI::App* verb = app_->add_subcommand(name, what);
  verb->fallthrough();
  verb->add_option("SESSION", plan_,
                   "The session, and behind a colon the plan's number (default: the newest)")
      ->type_name("SESSION[:N]");
  return verb;
}

CLI::App* PlanCommand::add_to(CLI::App& program) {
  app_ =
      program.add_subcommand("plan", "List, show, compare, export, import and check the plans of a session");
  app_->require_subcommand(1);
  app_->footer("Without a session: the newest *.tferry in this folder.");
  list_ = add_verb("list", "The plans of a session, and what an iteration under each is predicted to take");
  answer_.add_to(*list_);
  add_scope_options(*list_, scope_);
  show_ = add_verb("show", "What moves when, and what it is predicted to take");
  answer_.add_to(*show_);
  add_scope_options(*show_, scope_);
  diff_ = add_verb("diff", "What two plans move otherwise, and what each is predicted to take");
  diff_->add_option("OTHER", other_, "The plan to compare it with")->type_name("SESSION[:N]")->required();
  answer_.add_to(*diff_);
  export_ = add_verb("export", "Write a plan as JSON, to look at or to edit");
  export_->add_option("-o,--output", output_, "The file (default: standard output)")->type_name("FILE");
  import_ = add_verb("import", "Store an edited plan in the session, as a new one");
  import_->add_option("FILE", file_, "The plan as JSON")->type_name("FILE")->required();
  check_ = add_verb("check", "Tell whether a plan can be followed, and all that is wrong with it");
  check_->add_option("FILE", file_, "A plan as JSON to check against the session's (default: its own)")
      ->type_name("FILE");
  common_.add_to(*app_, "the answer");
  return app_;
}

void PlanCommand::list() const {
  const PlanReference reference = find_and_tell(plan_, Console(common_.verbosity()));
  trace::Session session = trace::Session::open(reference.session.string());
  answer_.answer({report_plan_of(Scope(session, scope_), reference.plan).front()}, reference.session.string(),
                 common_);
}

void PlanCommand::diff() const {
  const Console console(common_.verbosity());
  const PlanReference first = find_and_tell(plan_, console), second = find_and_tell(other_, console);
  const analyzer::StoredPlan one = open_plan(first), other = open_plan(second);
  answer_.answer(plan_diff(one, plan_name(first, one), other, plan_name(second, other)),
                 first.session.string(), common_);
}

void PlanCommand::show() const {
  const PlanReference reference = find_and_tell(plan_, Console(common_.verbosity()));
  trace::Session session = trace::Session::open(reference.session.string());
  if (reference.plan && session.count<trace::PlanRow>(fmt::format("id = {}", *reference.plan)) == 0) {
    throw Failure(fmt::format("{} has no plan {}", reference.session.string(), *reference.plan),
                  "tferry plan list tells those it has");
  }
  const Scope scope(session, scope_);
  answer_.answer(report_plan_of(scope, reference.plan), reference.session.string(), common_);
}

void PlanCommand::write_json() const {
  const PlanReference reference = find_and_tell(plan_, Console(common_.verbosity()));
  std::optional<OutputFile> file;
  if (!output_.empty()) file.emplace(output_, common_.force);
  const analyzer::StoredPlan stored = open_plan(reference);
  const std::string text = analyzer::to_json(stored.placed.plan, stored.placed.workload.workload);
  if (file) {
    file->publish(text);
  } else {
    std::cout << text << std::flush;
  }
}

void PlanCommand::read_json() const {
  const Console console(common_.verbosity());
  const PlanReference reference = find_and_tell(plan_, console);
  analyzer::StoredPlan stored = open_plan(reference);
  replace(stored, file_);
  std::int64_t number = 0;
  edit_session(reference.session, reference.session, true, [&](trace::SessionWriter& writer) {
    std::vector<std::int64_t> ids;
    for (const analyzer::MatchedTensor& matched : stored.rank.typical->tensors) {
      trace::Statement find(writer.database(), "SELECT max(id) FROM tensor WHERE name = ?");
      find.bind(1, matched.tensor.name);
      ids.push_back(find.step() ? find.integer(0) : 0);
    }
    number = analyzer::insert_plan(writer, stored.row, stored.rank, stored.placed, ids);
  });
  console.notice(fmt::format("plan {} of {}: {}", number, reference.session.string(), describe(stored)));
}

void PlanCommand::check() const {
  const Console console(common_.verbosity());
  const PlanReference reference = find_and_tell(plan_, console);
  analyzer::StoredPlan stored = open_plan(reference);
  if (!file_.empty()) replace(stored, file_);
  const trace::FlatPlan flat = analyzer::make_flat_plan(stored.rank, stored.placed, stored.row, "checked");
  if (const std::string error = trace::flat_plan_error(flat); !error.empty())
    throw Failure("the plan cannot be written for a run: " + error, "report this defect with the session");
  console.notice(fmt::format("{} can be followed: {}", file_.empty() ? plan_name(reference, stored) : file_,
                             describe(stored)));
}

int PlanCommand::execute() const {
  if (list_->parsed()) list();
  if (show_->parsed()) show();
  if (diff_->parsed()) diff();
  if (export_->parsed()) write_json();
  if (import_->parsed()) read_json();
  if (check_->parsed()) check();
  return kOk;
}

}  // namespace tferry::cli
