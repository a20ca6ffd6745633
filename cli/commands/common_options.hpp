#pragma once

#include "cli/console.hpp"

#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// What every command takes: --json FILE, --force, -q, -v, --config FILE.
struct CommonOptions {
  std::string json_file;
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  std::string config_file;

  void add_to(CLI::App& command, const char* json_contents);
  Verbosity verbosity() const;
};

}  // namespace tferry::cli
