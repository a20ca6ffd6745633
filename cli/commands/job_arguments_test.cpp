#include "cli/commands/job_arguments.hpp"

#include "cli/failure.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

using Arguments = std::vector<std::string>;

class TakeJobTest : public testing::Test {
 protected:
  TakeJobTest() {
    command_->add_option("--budget", budget_);
    command_->add_flag("-q,--quiet", quiet_);
    command_->add_flag("-v", verbose_);
  }

  Arguments job(Arguments arguments, Arguments ours) {
    Arguments result = take_job(*command_, arguments, 0);
    EXPECT_EQ(arguments, ours);
    return result;
  }

  CLI::App program_{"", "tferry"};
  CLI::App* command_ = program_.add_subcommand("run");
  std::string budget_;
  bool quiet_ = false, verbose_ = false;
};

TEST_F(TakeJobTest, JobBeginsBehindOurOptions) {
  EXPECT_EQ(job({"--budget", "3", "-q", "python", "-q", "--budget"}, {"--budget", "3", "-q"}),
            (Arguments{"python", "-q", "--budget"}));
  EXPECT_EQ(job({"--budget=3", "-qv", "python"}, {"--budget=3", "-qv"}), Arguments{"python"});
  EXPECT_EQ(job({"run"}, {}), Arguments{"run"});
}

TEST_F(TakeJobTest, DoubleDashIsOptionalAndOnlyOurFirstOneGoes) {
  EXPECT_EQ(job({"-q", "--", "sh", "-c", "x"}, {"-q"}), (Arguments{"sh", "-c", "x"}));
  EXPECT_EQ(job({"--", "--", "x"}, {}), (Arguments{"--", "x"}));
  EXPECT_EQ(job({"--", "-odd"}, {}), Arguments{"-odd"});
  EXPECT_EQ(job({"x", "--", "y"}, {}), (Arguments{"x", "--", "y"}));
}

TEST_F(TakeJobTest, NothingToRunIsEmpty) {
  EXPECT_EQ(job({}, {}), Arguments{});
  EXPECT_EQ(job({"--"}, {}), Arguments{});
  EXPECT_EQ(job({"--budget"}, {"--budget"}), Arguments{}) << "the missing value is the parser's to tell";
}

TEST_F(TakeJobTest, MisspeltOptionIsNotTakenForAProgram) {
  Arguments arguments = {"--bugdet=3", "python"};
  EXPECT_THROW(take_job(*command_, arguments, 0), Failure);
}

}  // namespace
}  // namespace tferry::cli
