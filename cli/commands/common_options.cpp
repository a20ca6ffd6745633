#include "cli/commands/common_options.hpp"

#include <CLI/CLI.hpp>

namespace tferry::cli {

void CommonOptions::add_to(CLI::App& command, const char* json_contents) {
  command.add_option("--json", json_file, std::string("Write ") + json_contents + " to this file, as JSON")
      ->type_name("FILE");
  command.add_flag("--force", force, "Overwrite the file of --json");
  auto* quietly = command.add_flag("-q,--quiet", quiet, "Say nothing but warnings and errors");
  command.add_flag("-v,--verbose", verbose, "Say more")->excludes(quietly);
  command
      .add_option("--config", config_file,
                  "Take defaults from this TOML file, section [" + command.get_name() + "]")
      ->type_name("FILE")
      ->configurable(false);
}

Verbosity CommonOptions::verbosity() const {
  return quiet ? Verbosity::kQuiet : verbose ? Verbosity::kDetailed : Verbosity::kNormal;
}

}  // namespace tferry::cli
