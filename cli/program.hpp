#pragma once

namespace tferry::cli {

/// The program `tferry`: reads the command line, runs the command, tells failures on standard error. Returns
/// the exit code; does not return where the job died of a signal.
int run_program(int argc, char** argv);

}  // namespace tferry::cli
