#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

struct CommonOptions;

/// --format and where an answer goes: standard output, and the file of --json.
struct AnswerOptions {
  std::string format = "table";

  void add_to(CLI::App& command);
  /// Prints the tables and writes them to --json. Throws Failure.
  void answer(const std::vector<Table>& tables, const std::string& session,
              const CommonOptions& common) const;
};

/// --gpu --rank --from --to --top.
void add_scope_options(CLI::App& command, ScopeOptions& options);

}  // namespace tferry::cli
