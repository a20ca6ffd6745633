#include "cli/session/choose_session.hpp"

#include "cli/failure.hpp"

#include <optional>
#include <system_error>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

const char* remedy_for(trace::SessionError::Reason reason) {
  using Reason = trace::SessionError::Reason;
  switch (reason) {
    case Reason::kMissing:
      return "name an existing session, or make one with tferry profile";
    case Reason::kNotAFile:
    case Reason::kNotSqlite:
    case Reason::kForeign:
      return "name a .tferry file that tferry profile or tferry merge made";
    case Reason::kNoAccess:
      return "check the permissions of the file and its folder";
    case Reason::kEmpty:
    case Reason::kTruncated:
    case Reason::kDamaged:
      return "copy it again, or make it anew from its spools with tferry merge";
    case Reason::kNewer:
      return "use the tferry that wrote it, or a newer one";
    case Reason::kLocked:
      return "wait until the other program is done, and try again";
    case Reason::kReadOnly:
      return "copy it to a place that you can write to, or name another file with -o";
    case Reason::kExists:
      return "name another file, or add --force";
    case Reason::kDiskFull:
      return "make room, or name a place on another disk with -o";
    case Reason::kFailed:
      break;
  }
  return "the system's own words above tell more";
}

}  // namespace

SessionChoice choose_session(const std::string& named) {
  if (!named.empty()) return {named, false};
  std::optional<std::pair<fs::file_time_type, fs::path>> newest;
  std::error_code error;
  for (fs::directory_iterator entry(".", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() != ".tferry" || !entry->is_regular_file(ignored)) continue;
    const std::pair candidate{entry->last_write_time(ignored), entry->path().lexically_normal()};
    if (!ignored && (!newest || *newest < candidate)) newest = candidate;
  }
  if (!newest) {
    throw Failure("there is no session (*.tferry) in this folder",
                  "name one, or record one with tferry profile");
  }
  return {newest->second, true};
}

Failure session_failure(const trace::SessionError& error) {
  return {error.what(), remedy_for(error.reason())};
}

}  // namespace tferry::cli
