#pragma once

#include <stdexcept>
#include <string>

namespace tferry::trace {

class SqliteError;

/// Why a session cannot be opened, read or written. The message is one sentence for the user: what happened,
/// to which file, what to do.
class SessionError : public std::runtime_error {
 public:
  enum class Reason {
    kMissing,    ///< no such file
    kNotAFile,   ///< a directory, a device
    kNoAccess,   ///< permissions
    kEmpty,      ///< no byte, or no table
    kTruncated,  ///< shorter than its own header says
    kNotSqlite,
    kForeign,   ///< a database of another program
    kNewer,     ///< written by a newer tferry
    kLocked,    ///< another program is writing
    kReadOnly,  ///< cannot be changed where it is
    kDamaged,
    kExists,  ///< would have been overwritten
    kDiskFull,
    kFailed  ///< anything else, with the system's words
  };

  SessionError(Reason reason, const std::string& message) : std::runtime_error(message), reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};

/// The same as a sentence about the file `path`.
SessionError session_error(const std::string& path, const SqliteError& error);

}  // namespace tferry::trace
