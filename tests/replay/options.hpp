#pragma once

#include <string>

namespace tferry::replay {

/// What tferry-replay is told; see main.cpp.
struct Options {
  std::string spool;  ///< of the runtime
  std::string times;  ///< spool of the collector; empty: kernels take no time
  int steps = 0;      ///< more of the last iteration
  int repeat = 1;     ///< of everything
};

/// Throws std::runtime_error, with how to call it, for what it does not know.
Options parse_options(int argc, char** argv);

}  // namespace tferry::replay
