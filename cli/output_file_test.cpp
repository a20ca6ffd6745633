#include "cli/output_file.hpp"

#include "cli/failure.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tferry::cli {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class OutputFileTest : public testing::Test {
 protected:
  testing_support::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "out.json";
};

TEST_F(OutputFileTest, AppearsWholeAndLeavesNoDraft) {
  OutputFile(path_, false).publish("{}\n");
  EXPECT_EQ(contents(path_), "{}\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(OutputFileTest, IsRefusedBeforeTheWorkIfItExists) {
  std::ofstream(path_) << "mine";
  EXPECT_THROW(OutputFile(path_, false), Failure);
  EXPECT_EQ(contents(path_), "mine");
}

TEST_F(OutputFileTest, IsNotOverwrittenIfItAppearsMeanwhile) {
  const OutputFile output(path_, false);
  std::ofstream(path_) << "mine";
  EXPECT_THROW(output.publish("ours"), Failure);
  EXPECT_EQ(contents(path_), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(OutputFileTest, IsOverwrittenByForce) {
  std::ofstream(path_) << "old";
  OutputFile(path_, true).publish("new");
  EXPECT_EQ(contents(path_), "new");
}

TEST_F(OutputFileTest, MissingFolderAndDirectoryAreRefused) {
  EXPECT_THROW(OutputFile(directory_.path() / "none" / "out.json", false), Failure);
  EXPECT_THROW(OutputFile(directory_.path(), true), Failure);
}

}  // namespace
}  // namespace tferry::cli
