#include "cli/job/program_path.hpp"

#include "cli/failure.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tferry::cli {
namespace {

class ProgramPathTest : public testing::Test {
 protected:
  ProgramPathTest() {
    std::ofstream(directory_.path() / "plain") << "";
    std::ofstream(directory_.path() / "program") << "";
    std::filesystem::permissions(directory_.path() / "program", std::filesystem::perms::owner_all);
    std::filesystem::create_directory(directory_.path() / "folder");
  }

  int exit_code(const std::string& name, const std::string& path) {
    try {
      resolve_program(name, path);
    } catch (const Failure& failure) {
      return failure.exit_code();
    }
    return 0;
  }
  std::string in(const char* name) const { return (directory_.path() / name).string(); }

  testing_support::TemporaryDirectory directory_;
};

TEST_F(ProgramPathTest, FindsTheFirstExecutable) {
  EXPECT_EQ(resolve_program("program", "/nowhere:" + directory_.path().string()), in("program"));
  EXPECT_EQ(resolve_program(in("program"), ""), in("program"));
}

TEST_F(ProgramPathTest, TellsMissingFromNotExecutable) {
  EXPECT_EQ(exit_code("missing", directory_.path().string()), kNotFound);
  EXPECT_EQ(exit_code(in("missing"), ""), kNotFound);
  EXPECT_EQ(exit_code("", "/bin"), kNotFound);
  EXPECT_EQ(exit_code("plain", directory_.path().string()), kNotExecutable);
  EXPECT_EQ(exit_code(in("plain"), ""), kNotExecutable);
  EXPECT_EQ(exit_code(in("folder"), ""), kNotExecutable);
}

}  // namespace
}  // namespace tferry::cli
