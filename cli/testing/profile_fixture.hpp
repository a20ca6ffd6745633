#pragma once

#include "cli/testing/program_fixture.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tferry::cli::testing_support {

/// `tferry profile` as a user calls it, by shell lines in an empty folder: $T is the program, $S the layers
/// sample, which runs on the software driver. Raw recordings lie in places().
class ProfileFixture : public testing::Test {
 protected:
  Ended sh(const std::string& line) const {
    return run_shell("export T=" TFERRY_PROGRAM " S=" TFERRY_SAMPLE_LAYERS " TMPDIR=" + places_.string() +
                         "; cd " + root_.string() +
                         "; unset LD_PRELOAD CUDA_INJECTION64_PATH; "
                         "export LD_LIBRARY_PATH=" TFERRY_SOFTWARE_DRIVER_DIR "; " +
                         line,
                     root_);
  }
  /// The single value of an SQL question, as CSV shows it.
  std::string ask(const std::string& session, const std::string& sql) const {
    const Ended ended = sh("$T query \"" + sql + "\" " + session + " --format csv");
    const std::size_t line = ended.out.find('\n');
    const std::size_t end = ended.out.rfind(',');
    return line == std::string::npos || end < line ? ended.err : ended.out.substr(line + 1, end - line - 1);
  }
  std::int64_t count(const std::string& session, const std::string& table_and_condition) const {
    const std::string text = ask(session, "SELECT count(*) FROM " + table_and_condition);
    return text.empty() || text.find_first_not_of("0123456789") != std::string::npos ? -1 : std::stoll(text);
  }

  TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
  fs::path places_ = [this] {
    fs::create_directory(root_ / "places");
    return root_ / "places";
  }();
};

}  // namespace tferry::cli::testing_support
