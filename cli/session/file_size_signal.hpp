#pragma once

#include <csignal>

namespace tferry::cli {

/// While this object lives, writing beyond the user's file size limit (`ulimit -f`) fails with an error,
/// which is told, instead of killing this process by SIGXFSZ. No job may be started meanwhile: it would
/// inherit it. Threads: one at a time.
class FileSizeSignalIgnored {
 public:
  FileSizeSignalIgnored() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &ignore, &before_);
  }
  ~FileSizeSignalIgnored() { ::sigaction(SIGXFSZ, &before_, nullptr); }
  FileSizeSignalIgnored(const FileSizeSignalIgnored&) = delete;
  FileSizeSignalIgnored& operator=(const FileSizeSignalIgnored&) = delete;

 private:
  struct sigaction before_{};
};

}  // namespace tferry::cli
