#include "cli/demo/sample_run.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

TEST(SampleRun, CollectsOutputAndExitCode) {
  const SampleRun run = run_sample({"/bin/sh", "-c", "echo one; echo $FERRY; exit 3"}, {"FERRY=a=b"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.lines, (std::vector<std::string>{"one", "a=b"}));
  EXPECT_EQ(run.answer(), std::nullopt);
}

TEST(SampleRun, FindsTheAnswer) {
  const SampleRun run = run_sample({"/bin/sh", "-c", "echo step; echo 'answer ok 8b2e, 8 iterations'"}, {});
  EXPECT_EQ(run.answer(), "8b2e");
}

TEST(SampleRun, ASignalAndAMissingProgramAreExitCodes) {
  EXPECT_EQ(run_sample({"/bin/sh", "-c", "kill -9 $$"}, {}).exit_code, 137);
  EXPECT_EQ(run_sample({"/no/such/program"}, {}).exit_code, 127);
}

}  // namespace
}  // namespace tferry::cli
