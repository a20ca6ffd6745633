#include "trace/session_error.hpp"

#include "trace/sqlite.hpp"

namespace tferry::trace {

SessionError session_error(const std::string& path, const SqliteError& error) {
  using Reason = SessionError::Reason;
  const std::string detail = std::string(" (SQLite: ") + error.what() + ")";
  if (error.busy()) {
    return {
        Reason::kLocked,
        "session " + path + " is locked: another program is writing it; try again when it is done" + detail};
  }
  if (error.corrupt()) {
    return {Reason::kDamaged, "session " + path +
                                  " is damaged; if its spools are still there, `tferry merge` makes it anew" +
                                  detail};
  }
  if (error.read_only()) {
    return {
        Reason::kReadOnly,
        "session " + path + " cannot be changed where it is: copy it to a place you can write to" + detail};
  }
  if (error.disk_full()) return {Reason::kDiskFull, "no space left while writing session " + path + detail};
  if (error.cannot_open()) return {Reason::kNoAccess, "cannot open session " + path + detail};
  return {Reason::kFailed, "session " + path + detail};
}

}  // namespace tferry::trace
