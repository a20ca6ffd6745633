#pragma once

#include <string_view>

namespace tferry::cli {

class Failure;

enum class Verbosity { kQuiet, kNormal, kDetailed };

/// Where our lines go: standard error (the job owns standard output), every line behind the prefix "tferry: "
/// and written by one call, so that lines of job and launcher do not mix. Colour only on a terminal and
/// without NO_COLOR (https://no-color.org).
class Console {
 public:
  explicit Console(Verbosity verbosity, int descriptor = 2);

  /// Tells something; hidden by -q.
  void notice(std::string_view text) const;
  /// Tells something; shown by -v only.
  void detail(std::string_view text) const;
  /// Something is lost, but the job runs. Shown with -q, too.
  void warning(std::string_view text) const;
  /// What happened, and on a line of its own what to do.
  void failure(const Failure& failure) const;

  Verbosity verbosity() const noexcept { return verbosity_; }

 private:
  enum class Colour { kNone, kYellow, kRed };
  void write_lines(std::string_view text, Colour colour) const;

  Verbosity verbosity_;
  int descriptor_;
  bool colour_;
};

}  // namespace tferry::cli
