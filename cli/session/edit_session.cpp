#include "cli/session/edit_session.hpp"

#include "trace/session_file.hpp"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;
using trace::SessionError;

/// The copy that is being built; gone unless it was published.
class Draft {
 public:
  Draft(const fs::path& from, const fs::path& to)
      : path_(to.string() + fmt::format(".analyzing.{}", ::getpid())) {
    std::error_code error;
    fs::copy_file(from, path_, fs::copy_options::overwrite_existing, error);
    if (!error)
      fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write, fs::perm_options::add, error);
    if (!error) return;
    fs::remove(path_, ignored_);
    const auto reason = error == std::errc::no_space_on_device      ? SessionError::Reason::kDiskFull
                        : error == std::errc::read_only_file_system ? SessionError::Reason::kReadOnly
                        : error == std::errc::permission_denied     ? SessionError::Reason::kReadOnly
                                                                    : SessionError::Reason::kFailed;
    throw SessionError(
        reason, fmt::format("the analysis cannot be stored beside {}: {}", to.string(), error.message()));
  }
  ~Draft() { fs::remove(path_, ignored_); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  std::error_code ignored_;
};

}  // namespace

void edit_session(const fs::path& from, const fs::path& to, bool force,
                  const std::function<void(trace::SessionWriter&)>& change) {
  std::error_code ignored;
  if (!force && fs::exists(fs::symlink_status(to, ignored))) {
    throw SessionError(SessionError::Reason::kExists, to.string() + " exists already and is not overwritten");
  }
  const Draft draft(from, to);
  {
    trace::SessionWriter writer = trace::SessionWriter::edit(draft.path().string(), true);
    change(writer);
    writer.publish();
  }
  trace::publish_file(draft.path().string(), to.string(), force);
}

}  // namespace tferry::cli
