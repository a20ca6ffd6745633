#include "cli/job/recording_setup.hpp"

#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

class RecordingSetupTest : public testing::Test {
 protected:
  RecordingSetupTest() {
    touch("ours/bin/tferry");
    touch("ours/lib/libtferry_collector.so");
    touch("toolkit/lib64/libcupti.so.13");
    touch("toolkit/lib64/libcublas.so.13");
    fs::create_directories(root_ / "run");
  }
  void touch(const std::string& name) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "x";
  }
  Environment environment(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> variables = {"CUDA_HOME=" + (root_ / "toolkit").string()};
    variables.insert(variables.end(), more.begin(), more.end());
    std::vector<const char*> pointers;
    for (const std::string& variable : variables) pointers.push_back(variable.c_str());
    pointers.push_back(nullptr);
    return Environment(pointers.data());
  }
  std::vector<std::string> apply(Environment& environment, const RecordingSettings& settings = {}) const {
    return apply_recording(settings, Installation(root_ / "ours/bin/tferry"), root_ / "run", environment);
  }

  testing_support::TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
};

TEST_F(RecordingSetupTest, TheDriverGetsTheCollectorAndTheHooksRecord) {
  Environment job = environment();
  EXPECT_TRUE(apply(job).empty());
  EXPECT_EQ(job.get("CUDA_INJECTION64_PATH"), (root_ / "ours/lib/libtferry_collector.so").string());
  EXPECT_EQ(job.get("NVTX_INJECTION64_PATH"), "libcupti.so.13");
  EXPECT_EQ(job.get("TFERRY_RECORD"), "1");
  EXPECT_EQ(job.get("TFERRY_RUN_DIR"), (root_ / "run").string());
}

// pytorch#118982: a library path broke the CUPTI that the program brings. Ours stands behind whatever the
// program's own path names, and no other library of ours or of the toolkit stands there at all.
TEST_F(RecordingSetupTest, Pytorch118982OursNeverShadowsTheProgramsOwnLibraries) {
  touch("mine/libcupti.so.13");
  const std::string mine = (root_ / "mine").string();
  Environment job = environment({"LD_LIBRARY_PATH=" + mine + ":/more"});
  apply(job);
  const std::string path(job.get("LD_LIBRARY_PATH").value_or(""));
  EXPECT_EQ(path, mine + ":/more:" + (root_ / "run/cupti").string());
  // The first one that the loader meets is the program's.
  EXPECT_TRUE(fs::exists(path.substr(0, path.find(':')) + "/libcupti.so.13"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "run/cupti"), fs::directory_iterator()), 1);
  EXPECT_TRUE(fs::exists(root_ / "run/cupti/libcupti.so.13"));
  EXPECT_FALSE(fs::exists(root_ / "run/cupti/libcublas.so.13"));
}

TEST_F(RecordingSetupTest, AnotherToolsInjectionIsKept) {
  Environment job = environment({"CUDA_INJECTION64_PATH=/opt/nsight.so"});
  const std::vector<std::string> missing = apply(job);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_NE(missing[0].find("CUDA_INJECTION64_PATH=/opt/nsight.so is yours and was kept"), std::string::npos);
  EXPECT_EQ(job.get("CUDA_INJECTION64_PATH"), "/opt/nsight.so");
}

TEST_F(RecordingSetupTest, WithoutCollectorOrHooksTheRestIsStillRecorded) {
  fs::remove(root_ / "ours/lib/libtferry_collector.so");
  Environment job = environment();
  RecordingSettings settings;
  settings.hooks = false;
  settings.spool_limit = 4096;
  EXPECT_EQ(apply(job, settings).size(), 1U);
  EXPECT_FALSE(job.get("CUDA_INJECTION64_PATH"));
  EXPECT_FALSE(job.get("TFERRY_RECORD"));
  EXPECT_EQ(job.get("TFERRY_SPOOL_LIMIT"), "4096");
}

TEST_F(RecordingSetupTest, CuptiOfTheProgramsOwnPythonIsFound) {
  touch("venv/bin/python3");
  touch("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13");
  const std::vector<const char*> none = {nullptr};
  EXPECT_EQ(find_cupti(Environment(none.data()), root_ / "venv/bin/python3"),
            root_ / "venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13");
}

}  // namespace
}  // namespace tferry::cli
