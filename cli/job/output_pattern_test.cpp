#include "cli/job/output_pattern.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <unistd.h>

namespace tferry::cli {
namespace {

Environment with_rank() {
  const std::array<const char*, 3> variables = {"RANK=3", "ODD=a/b", nullptr};
  return Environment(variables.data());
}

TEST(OutputPattern, ExpandsHostProcessAndVariables) {
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(expand_output_pattern("out/r%q{RANK}-%p.tferry", with_rank()), "out/r3-" + pid + ".tferry");
  EXPECT_EQ(expand_output_pattern("100%%", with_rank()), "100%");
  EXPECT_EQ(expand_output_pattern("%q{ODD}", with_rank()), "a_b");
  EXPECT_EQ(expand_output_pattern("%h", with_rank()).find('%'), std::string::npos);
}

TEST(OutputPattern, RefusesWhatItDoesNotKnow) {
  for (const char* pattern : {"%", "%x", "a%", "%q", "%q{RANK", "%q{NONE}"}) {
    EXPECT_THROW(expand_output_pattern(pattern, with_rank()), Failure) << pattern;
  }
}

TEST(RecordingName, IsTheProgramsOrTheScripts) {
  EXPECT_EQ(recording_name({"/usr/bin/python3", "-u", "dir/train.py", "--lr", "1"}), "train");
  EXPECT_EQ(recording_name({"python3.11", "-X", "dev", "-m", "torch.distributed.run"}),
            "torch.distributed.run");
  EXPECT_EQ(recording_name({"python", "-c", "print(1)"}), "python");
  EXPECT_EQ(recording_name({"./layers", "x.py"}), "layers");
  EXPECT_EQ(recording_name({"pythonic", "x.py"}), "pythonic");
  EXPECT_EQ(recording_name({"sh"}), "sh");
  EXPECT_EQ(recording_name({"./.hidden"}), "job.hidden");
}

TEST(NextSessionPath, CountsOnFromTheLargest) {
  const testing_support::TemporaryDirectory directory;
  EXPECT_EQ(next_session_path(directory.path(), "a").filename(), "a.1.tferry");
  for (const char* name : {"a.1.tferry", "a.7.tferry", "a.x.tferry", "b.9.tferry", "a.10.txt"}) {
    std::ofstream(directory.path() / name) << "x";
  }
  EXPECT_EQ(next_session_path(directory.path(), "a").filename(), "a.8.tferry");
}

}  // namespace
}  // namespace tferry::cli
