#include "cli/session/store_analysis.hpp"

#include "analyzer/session/store.hpp"
#include "trace/session_file.hpp"
#include "trace/session_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <unistd.h>
#include <vector>

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

std::string unknown_lines(std::span<const analyzer::RankAnalysis> ranks) {
  std::vector<std::string> lines;
  for (const analyzer::RankAnalysis& rank : ranks) {
    for (const std::string& reason : rank.unknown) {
      if (std::find(lines.begin(), lines.end(), reason) == lines.end()) lines.push_back(reason);
    }
  }
  if (ranks.empty()) lines.emplace_back("iterations: no GPU operation was recorded");
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace

void store_analysis(std::span<const analyzer::RankAnalysis> ranks, const fs::path& from, const fs::path& to,
                    bool force) {
  std::error_code ignored;
  if (!force && fs::exists(fs::symlink_status(to, ignored))) {
    throw SessionError(SessionError::Reason::kExists, to.string() + " exists already and is not overwritten");
  }
  const Draft draft(from, to);
  {
    trace::SessionWriter writer = trace::SessionWriter::edit(draft.path().string());
    analyzer::store_analysis(writer, ranks);
    writer.set_meta("analysis.created", std::string("tferry ") + TFERRY_VERSION);
    writer.set_meta("analysis.unknown", unknown_lines(ranks));
    writer.publish();
  }
  trace::publish_file(draft.path().string(), to.string(), force);
}

}  // namespace tferry::cli
