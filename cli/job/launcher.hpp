#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::cli {

class Environment;

struct JobCommand {
  std::string file;                    ///< what is executed, with a slash: resolve_program's answer
  std::vector<std::string> arguments;  ///< argv, the program's name as the user wrote it first
};

/// How a job ended, in the terms of wait(2).
struct JobEnd {
  bool signalled = false;
  int code = 0;  ///< exit code, or the signal
  std::int64_t duration_ns = 0;
};

/// Runs the job as a child in our own process group, so that terminal, `timeout` and job control treat both
/// as one: signals sent to the group reach the job directly, and once; those sent to the launcher alone (HUP
/// INT QUIT USR1 USR2 TERM TSTP CONT) are forwarded. The job gets the signal mask and dispositions that we
/// were given. When the job is stopped from the terminal, the launcher stops with it.
///
/// Throws Failure with kNotFound or kNotExecutable if the program cannot be executed. One job at a time, in a
/// process of one thread.
JobEnd run_job(const JobCommand& command, Environment& environment);

/// Ends this process as the job ended: its exit code, or its signal, without another core file. Returns the
/// exit code to use; does not return for a signal unless the signal cannot kill.
int repeat_end(const JobEnd& end);

}  // namespace tferry::cli
