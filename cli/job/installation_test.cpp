#include "cli/job/installation.hpp"

#include "cli/failure.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tferry::cli {
namespace {

TEST(Installation, FindsLibrariesBesideTheProgramsFolder) {
  const testing_support::TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "lib");
  std::ofstream(directory.path() / "lib" / "libtferry_runtime.so") << "";
  const Installation installation(directory.path() / "bin" / "tferry");
  EXPECT_EQ(installation.runtime_library(), directory.path() / "lib" / "libtferry_runtime.so");
}

TEST(Installation, MissingRuntimeSaysWhereItWasLookedFor) {
  const testing_support::TemporaryDirectory directory;
  const Installation installation(directory.path() / "bin" / "tferry");
  try {
    installation.runtime_library();
    FAIL() << "found";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find((directory.path() / "lib").string()), std::string::npos);
  }
  EXPECT_EQ(installation.executable("tferry-sample-layers"), std::nullopt);
}

}  // namespace
}  // namespace tferry::cli
