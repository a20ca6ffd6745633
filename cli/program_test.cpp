#include "cli/testing/program_fixture.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <sstream>
#include <string>

namespace tferry::cli {
namespace {

using testing_support::contents;
using testing_support::Ended;
using testing_support::ProgramTest;
namespace fs = std::filesystem;

TEST_F(ProgramTest, JobsOutputIsItsOwnAndOurLinesCarryThePrefix) {
  const Ended ended = sh("$T run --budget 1GiB sh -c 'echo out; echo err >&2'");
  EXPECT_EQ(ended.exit_code(), 0);
  EXPECT_EQ(ended.out, "out\n");
  std::istringstream lines(ended.err);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line == "err" || line.starts_with("tferry: ")) << line;
  EXPECT_TRUE(ended.told("budget: 1.00 GiB (1073741824 bytes)")) << ended.err;
  EXPECT_TRUE(ended.told("sh ended with exit code 0")) << ended.err;
}

TEST_F(ProgramTest, ExitCodeAndSignalAreTheJobs) {
  EXPECT_EQ(sh("exec $T run sh -c 'exit 42'").exit_code(), 42);
  EXPECT_EQ(sh("exec $T run sh -c 'kill -TERM $$'").signal(), SIGTERM);
  EXPECT_EQ(sh("exec $T run -- sh -c 'kill -KILL $$'").signal(), SIGKILL);
}

TEST_F(ProgramTest, OurFailuresHaveTheirOwnExitCodesAndARemedy) {
  const auto failure = [this](const std::string& line) {
    const Ended ended = sh(line);
    EXPECT_TRUE(ended.told("tferry: what to do: ")) << line << "\n" << ended.err;
    EXPECT_EQ(ended.out, "") << line;
    return ended.exit_code();
  };
  EXPECT_EQ(failure("$T run no-such-program"), 127);
  EXPECT_EQ(failure("$T run ./no-such-program"), 127);
  EXPECT_EQ(failure("touch plain; $T run ./plain"), 126);
  EXPECT_EQ(failure("$T run ./bin"), 126);
  EXPECT_EQ(failure("$T run"), 125);
  EXPECT_EQ(failure("$T"), 125);
  EXPECT_EQ(failure("$T sail"), 125);
  EXPECT_EQ(failure("$T run --budget 0 true"), 125);
  EXPECT_EQ(failure("$T run --budget"), 125);
  EXPECT_EQ(failure("$T run --bugdet 3GiB true"), 125);
  EXPECT_EQ(failure("$T run -q -v true"), 125);
  EXPECT_EQ(failure("$T run --chunk 3MiB true"), 125);
  EXPECT_EQ(failure("$T run --allocator cached true"), 125);
  EXPECT_EQ(failure("$T run --config none.toml true"), 125);
}

TEST_F(ProgramTest, AProgramNamedLikeACommandAndItsOptionsAreNotOurs) {
  sh("printf '#!/bin/sh\\necho \"$@\"\\n' > demo; chmod +x demo");
  EXPECT_EQ(sh("PATH=$D:$PATH $T run -q demo -q --budget x --config y --json z -- --help").out,
            "-q --budget x --config y --json z -- --help\n");
}

TEST_F(ProgramTest, NothingIsStartedWhereSomethingIsWrong) {
  sh("echo mine > report.json");
  EXPECT_EQ(sh("$T run --json report.json touch started").exit_code(), 125);
  EXPECT_EQ(contents(root_ / "report.json"), "mine\n");
  fs::remove(library_);
  const Ended ended = sh("$T run touch started");
  EXPECT_EQ(ended.exit_code(), 125);
  EXPECT_TRUE(ended.told("libtferry_runtime.so was not found in")) << ended.err;
  EXPECT_FALSE(fs::exists(root_ / "started"));
}

TEST_F(ProgramTest, QuietSaysNothing) {
  const Ended ended = sh("$T run -q true");
  EXPECT_EQ(ended.out + ended.err, "");
}

TEST_F(ProgramTest, ReportIsWrittenAsJson) {
  sh("$T run -q --json report.json sh -c 'exit 3'");
  const auto json = nlohmann::json::parse(contents(root_ / "report.json"));
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["requested_budget"], "auto");
  EXPECT_EQ(sh("$T run -q --json report.json --force true").exit_code(), 0);
}

TEST_F(ProgramTest, JobFindsTheRuntimeAndItsSettingsAndTheUsersOwnBehindThem) {
  const Ended ended =
      sh("LD_PRELOAD=libc.so.6 PYTORCH_CUDA_ALLOC_CONF=a:1 $T run --budget 0:1MiB,1:2MiB --verify "
         "--host-budget 3MiB --allocator async env");
  const auto has = [&ended](const std::string& line) {
    return ("\n" + ended.out).find("\n" + line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has("LD_PRELOAD=" + library_.string() + ":libc.so.6")) << ended.out;
  EXPECT_TRUE(has("TFERRY_BUDGET=0:1048576,1:2097152")) << ended.out;
  EXPECT_TRUE(has("TFERRY_HOST_BUDGET=3145728")) << ended.out;
  EXPECT_TRUE(has("TFERRY_VERIFY=1")) << ended.out;
  EXPECT_TRUE(has("PYTORCH_CUDA_ALLOC_CONF=a:1,backend:cudaMallocAsync")) << ended.out;
  EXPECT_TRUE(ended.told("LD_PRELOAD (ours in front of yours)")) << ended.err;
}

TEST_F(ProgramTest, DefaultsComeFromAConfigurationFileAndTheCommandLineWins) {
  sh("printf '[run]\\nbudget = \"1GiB\"\\nverify = true\\n' > c.toml");
  EXPECT_NE(sh("$T run --config c.toml env").out.find("TFERRY_BUDGET=1073741824\n"), std::string::npos);
  EXPECT_NE(sh("$T --config c.toml run env").out.find("TFERRY_VERIFY=1\n"), std::string::npos);
  EXPECT_NE(sh("$T run --config c.toml --budget 2GiB env").out.find("TFERRY_BUDGET=2147483648\n"),
            std::string::npos);
}

TEST_F(ProgramTest, RunDirectoryIsPrivateAndGoesAway) {
  const Ended ended = sh("$T run -q sh -c 'stat -c %a $TFERRY_RUN_DIR'");
  EXPECT_EQ(ended.out, "700\n");
  EXPECT_TRUE(fs::is_empty(root_ / "places"));
}

TEST_F(ProgramTest, APathThatCannotBePreloadedIsReachedByALink) {
  const fs::path odd = root_ / "odd place";
  fs::create_directories(odd / "bin");
  fs::create_directories(odd / "lib");
  fs::copy_file(TFERRY_PROGRAM, odd / "bin" / "tferry");
  fs::copy_file(TFERRY_IDLE_RUNTIME, odd / "lib" / "libtferry_runtime.so");
  const Ended ended =
      sh("'odd place/bin/tferry' run -q sh -c 'grep -c libtferry_runtime /proc/self/maps >&2'");
  EXPECT_NE(ended.err, "0\n");
  EXPECT_EQ(ended.err.find("cannot be preloaded"), std::string::npos) << ended.err;
}

TEST_F(ProgramTest, HelpAndVersionAreNoFailures) {
  EXPECT_EQ(sh("$T --version").out, std::string("tferry ") + TFERRY_VERSION + "\n");
  EXPECT_EQ(sh("$T --help").exit_code(), 0);
  const Ended help = sh("$T run --help");
  EXPECT_EQ(help.exit_code(), 0);
  EXPECT_NE(help.out.find("--budget"), std::string::npos);
}

TEST_F(ProgramTest, DoctorSaysWhatDoesNotWork) {
  const Ended ended = sh("LD_LIBRARY_PATH=$D $T doctor --json doctor.json");
  const auto json = nlohmann::json::parse(contents(root_ / "doctor.json"));
  EXPECT_EQ(json["exit_code"], ended.exit_code());
  for (const auto& finding : json["findings"]) {
    EXPECT_EQ(finding["state"] == "usable", finding["fix"] == "") << finding;
  }
}

TEST_F(ProgramTest, DemoWithoutItsPartsSaysSo) {
  const Ended ended = sh("$T demo --part run");
  EXPECT_EQ(ended.exit_code(), 125);
  EXPECT_TRUE(ended.told("tferry-sample-layers is not here")) << ended.err;
}

}  // namespace
}  // namespace tferry::cli
