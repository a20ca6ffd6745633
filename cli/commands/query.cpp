#include "cli/commands/query.hpp"

#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/session/choose_session.hpp"
#include "trace/sqlite.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <utility>

namespace tferry::cli {
namespace {

/// Numbers as numbers, so that JSON has them as such; SQLite's own column types are not asked for.
Cell cell_of(const trace::Statement& row, int column) {
  if (row.is_null(column)) return {};
  const std::string text = row.shown(column);
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, integer);
      error == std::errc{} && rest == end) {
    if (std::to_string(integer) == text) return integer;
  }
  double real = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, real);
      error == std::errc{} && rest == end) {
    return real;
  }
  return text;
}

bool names_session(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".tferry") || std::filesystem::is_regular_file(word, ignored);
}

Table run_query(trace::Session& session, const std::string& sql) {
  Table table("query", sql, {});
  try {
    trace::Statement statement(session.database(), sql);
    for (int i = 0; i < statement.column_count(); ++i) table.columns.push_back({statement.column_name(i)});
    while (statement.step()) {
      std::vector<Cell> cells;
      for (int i = 0; i < statement.column_count(); ++i) cells.push_back(cell_of(statement, i));
      table.add(KnownBy::kMeasured, std::move(cells));
    }
  } catch (const trace::SqliteError& error) {
    if (error.corrupt() || error.busy()) throw trace::session_error(session.path(), error);
    throw Failure(fmt::format("{} answers: {}", session.path(), error.what()),
                  error.read_only() ? "a session is open for reading only; write a SELECT"
                                    : "see docs/schema.md for the tables and ready-made queries");
  }
  return table;
}

}  // namespace

CLI::App* QueryCommand::add_to(CLI::App& program) {
  CLI::App* app = program.add_subcommand("query", "Ask a session in SQL; it is open for reading only");
  app->footer("Without a session: the newest *.tferry in this folder. docs/schema.md tells the tables.");
  app->add_option("SQL", first_, "A SELECT")->required()->type_name("SQL");
  app->add_option("SESSION", second_, "The session")->type_name("SESSION");
  answer_.add_to(*app);
  common_.add_to(*app, "the answer");
  return app;
}

int QueryCommand::execute() const {
  const Console console(common_.verbosity());
  std::string sql = first_, named = second_;
  if (!second_.empty() && names_session(first_) && !names_session(second_)) std::swap(sql, named);
  const SessionChoice choice = choose_session(named);
  if (choice.chosen_for_you)
    console.notice(fmt::format("session: {} (the newest here)", choice.path.string()));
  trace::Session session = trace::Session::open(choice.path.string());
  answer_.answer({run_query(session, sql)}, choice.path.string(), common_);
  return kOk;
}

}  // namespace tferry::cli
