#pragma once

#include <sys/types.h>

namespace tferry::cli {

/// Tells whether a signal that reached the launcher was sent to the whole process group (Ctrl-C, `kill --
/// -PGID`), so that the job has it already, or to the launcher alone, so that it has to be forwarded. A tiny
/// process in the same group blocks every signal: what is pending there was sent to the group. It dies with
/// the launcher.
///
/// The kernel raises a group's signals in one uninterrupted loop, so a short grace is enough for the
/// sentinel's copy.
class SignalSentinel {
 public:
  /// Throws Failure if no process can be made. Call it before the job starts, in a process of one thread.
  SignalSentinel();
  ~SignalSentinel();
  SignalSentinel(const SignalSentinel&) = delete;
  SignalSentinel& operator=(const SignalSentinel&) = delete;

  /// True if the group got `signal` since the last question about it. False if the sentinel is gone.
  bool group_received(int signal);

  pid_t pid() const noexcept { return pid_; }

 private:
  pid_t pid_ = -1;
  int channel_ = -1;
};

}  // namespace tferry::cli
