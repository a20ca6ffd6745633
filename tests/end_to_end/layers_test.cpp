// The layers sample's twin on the software driver, alone and with the runtime preloaded, at several budgets.
#include "tests/end_to_end/job.hpp"
#include "trace/job_status.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

namespace tferry::end_to_end {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// 30 buffers of 2 MiB and some small ones: 72 MiB at the peak.
const std::vector<std::string> kLayers = {TFERRY_LAYERS,  "--buffers", "30",       "--mib", "2",
                                          "--iterations", "3",         "--hidden", "1"};

class Layers : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = std::filesystem::temp_directory_path() / "tferry-layers-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(path.data()));
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  using Variables = std::map<std::string, std::string>;
  static Variables alone(Variables more = {}) {
    more.insert({{"LD_LIBRARY_PATH", TFERRY_SOFTWARE_DRIVER_DIRECTORY},
                 {"SWD_DEVICE_MEMORY", std::to_string(512 * kMiB)},
                 {"SWD_POISON", "1"}});
    return more;
  }
  Variables ferried(const std::string& budget, Variables more = {}) const {
    more.insert({{"LD_PRELOAD", TFERRY_RUNTIME_LIBRARY},
                 {"TFERRY_MOVABLE", std::to_string(2 * kMiB)},
                 {"TFERRY_RUN_DIR", directory_},
                 {"TFERRY_BUDGET", budget}});
    return alone(std::move(more));
  }
  static std::vector<std::string> with(std::vector<std::string> command,
                                       const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  /// The status page that the job left.
  std::unique_ptr<trace::JobStatus> status() const {
    auto page = std::make_unique<trace::JobStatus>();
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (!entry.path().filename().string().starts_with("status.")) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      file.read(reinterpret_cast<char*>(page.get()), sizeof *page);
      EXPECT_TRUE(file) << "a whole page";
    }
    EXPECT_EQ(trace::kJobStatusMagic, page->magic);
    return page;
  }
  const trace::DeviceStatus& device(const trace::JobStatus& page) const { return page.device[0]; }

  std::string directory_;
};

TEST_F(Layers, GivesTheSameAnswerAtEveryBudgetAndStaysWithinIt) {
  const Ended native = run_job(kLayers, alone());
  ASSERT_EQ(0, native.code) << native.err;
  ASSERT_NE("", native.answer());
  for (const std::size_t budget : {96 * kMiB, 48 * kMiB, 32 * kMiB}) {
    SCOPED_TRACE(budget);
    TearDown();
    SetUp();
    const Ended ferried = run_job(kLayers, this->ferried(std::to_string(budget)));
    EXPECT_EQ(0, ferried.code) << ferried.err;
    EXPECT_EQ(native.answer(), ferried.answer());
    const auto page = status();
    EXPECT_EQ(static_cast<std::int64_t>(budget), device(*page).budget);
    EXPECT_LE(device(*page).resident_peak, device(*page).budget);
    EXPECT_EQ(budget < 64 * kMiB, device(*page).bytes_in > 0);
    EXPECT_EQ(0, device(*page).out_of_memory);
    EXPECT_LT(0, page->ended_ns);
  }
}

TEST_F(Layers, EveryPolicyGivesTheSameAnswerWithinTheBudget) {
  auto command = kLayers;
  *std::find(command.begin(), command.end(), "3") = "8";  // iterations
  const Ended native = run_job(command, alone());
  ASSERT_EQ(0, native.code) << native.err;
  std::map<std::string, std::int64_t> moved;
  for (const char* policy : {"lms", "on-demand", "lms-early"}) {
    SCOPED_TRACE(policy);
    TearDown();
    SetUp();
    const Ended job = run_job(command, this->ferried(std::to_string(40 * kMiB), {{"TFERRY_POLICY", policy}}));
    EXPECT_EQ(0, job.code) << job.err;
    EXPECT_EQ(native.answer(), job.answer());
    const auto page = status();
    EXPECT_LE(device(*page).resident_peak, device(*page).budget);
    moved[policy] = device(*page).bytes_out;
    EXPECT_LT(0, moved[policy]);
  }
  EXPECT_LE(moved["on-demand"], moved["lms"]) << "nothing leaves ahead of need";
  EXPECT_NE(moved["on-demand"], moved["lms-early"]) << "what left before leaves again without being asked to";
}

TEST_F(Layers, StreamOrderedAllocationGivesTheSameAnswer) {
  const auto command = with(kLayers, {"--stream-ordered"});
  const Ended native = run_job(command, alone());
  ASSERT_EQ(0, native.code) << native.err;
  const Ended ferried = run_job(command, this->ferried(std::to_string(32 * kMiB), {{"SWD_JITTER", "3"}}));
  EXPECT_EQ(0, ferried.code) << ferried.err;
  EXPECT_EQ(native.answer(), ferried.answer());
  EXPECT_LT(0, device(*status()).bytes_in);
}

TEST_F(Layers, ACardThatIsTooSmallIsNoObstacle) {
  const Variables card = {{"SWD_DEVICE_MEMORY", std::to_string(48 * kMiB)}};
  const Ended native = run_job(kLayers, alone(card));
  EXPECT_NE(0, native.code);
  EXPECT_NE(std::string::npos, native.err.find("CUDA_ERROR_OUT_OF_MEMORY")) << native.err;
  auto variables = card;
  variables["TFERRY_RESERVE"] = std::to_string(8 * kMiB);
  const Ended ferried = run_job(kLayers, this->ferried("auto", variables));
  EXPECT_EQ(0, ferried.code) << ferried.err;
  EXPECT_EQ(run_job(kLayers, alone()).answer(), ferried.answer());
}

TEST_F(Layers, ManagedMemoryMovesNothingWhileItFits) {
  const Ended native = run_job(kLayers, alone());
  const Ended managed = run_job(kLayers, ferried("auto", {{"TFERRY_MEMORY", "managed"}}));
  EXPECT_EQ(0, managed.code) << managed.err;
  EXPECT_EQ(native.answer(), managed.answer());
  const auto page = status();
  EXPECT_LT(0, device(*page).fetches) << "memory is made on the device before the kernel";
  EXPECT_EQ(0, device(*page).bytes_in);
  EXPECT_EQ(0, device(*page).bytes_out);
  EXPECT_LE(60 * kMiB, static_cast<std::size_t>(device(*page).resident_peak));
}

TEST_F(Layers, ManagedMemoryKeepsToItsBudgetByMovingOutWhatWasUsedLongestAgo) {
  const Ended native = run_job(kLayers, alone());
  for (const std::string policy : {"lms-early", "naive-um"}) {
    SCOPED_TRACE(policy);
    TearDown();
    SetUp();
    const Ended managed = run_job(
        kLayers, ferried(std::to_string(32 * kMiB),
                         {{"TFERRY_MEMORY", "managed"}, {"TFERRY_POLICY", policy}, {"SWD_JITTER", "5"}}));
    EXPECT_EQ(0, managed.code) << managed.err;
    EXPECT_EQ(native.answer(), managed.answer());
    const auto page = status();
    EXPECT_LE(device(*page).resident_peak, device(*page).budget);
    EXPECT_LT(0, device(*page).bytes_in);
    EXPECT_LT(0, device(*page).bytes_out);
    EXPECT_EQ(0, device(*page).mappings);
  }
}

/// FACTS.md: more managed memory than the card has free can hang the GPU.
TEST_F(Layers, ManagedMemoryIsRefusedBeyondWhatTheCardHasFree) {
  const Variables small = {{"SWD_DEVICE_MEMORY", std::to_string(48 * kMiB)}, {"TFERRY_MEMORY", "managed"}};
  const Ended refused = run_job(kLayers, ferried("auto", small));
  EXPECT_NE(0, refused.code);
  EXPECT_NE(std::string::npos, refused.err.find("--allow-oversubscription")) << refused.err;
  auto allowed = small;
  allowed["TFERRY_ALLOW_OVERSUBSCRIPTION"] = "1";
  TearDown();
  SetUp();
  EXPECT_EQ(0, run_job(kLayers, ferried("auto", allowed)).code);
}

TEST_F(Layers, AuditFindsNothingWrong) {
  const Ended ferried = run_job(kLayers, this->ferried(std::to_string(32 * kMiB), {{"TFERRY_VERIFY", "1"}}));
  EXPECT_EQ(0, ferried.code) << ferried.err;
  EXPECT_LT(0, device(*status()).audit_checks);
  EXPECT_EQ(0, device(*status()).audit_failures);
}

TEST_F(Layers, ABudgetBelowOneOperationsWorkingSetIsToldWithBothFigures) {
  const Ended ferried = run_job(kLayers, this->ferried(std::to_string(4 * kMiB)));
  EXPECT_EQ(1, ferried.code);
  EXPECT_NE(std::string::npos, ferried.err.find("CUDA_ERROR_OUT_OF_MEMORY")) << ferried.err;
  EXPECT_NE(std::string::npos, ferried.err.find("tferry: GPU 0: out of memory")) << ferried.err;
  EXPECT_NE(std::string::npos, ferried.err.find("budget")) << ferried.err;
  EXPECT_LT(0, device(*status()).out_of_memory);
}

TEST_F(Layers, ExhaustedHostMemoryIsToldWithTheFigures) {
  const Ended ferried = run_job(
      kLayers, this->ferried(std::to_string(32 * kMiB), {{"TFERRY_HOST_BUDGET", std::to_string(8 * kMiB)}}));
  EXPECT_EQ(1, ferried.code);
  EXPECT_NE(std::string::npos, ferried.err.find("CUDA_ERROR_OUT_OF_MEMORY")) << ferried.err;
  EXPECT_NE(std::string::npos, ferried.err.find("host memory for parked data 0.01 GiB")) << ferried.err;
}

TEST_F(Layers, TurnedOffEverythingPassesThrough) {
  const Ended off = run_job(kLayers, ferried(std::to_string(32 * kMiB), {{"TFERRY_OFF", "1"}}));
  EXPECT_EQ(0, off.code) << off.err;
  EXPECT_EQ("", off.err);
  const auto page = status();
  EXPECT_EQ(static_cast<std::int64_t>(trace::JobStage::kOff), page->stage);
  EXPECT_EQ(0, device(*page).allocations);
}

TEST_F(Layers, SettingsThatCannotBeUnderstoodLeaveTheJobAlone) {
  const Ended job = run_job(kLayers, ferried("lots"));
  EXPECT_EQ(0, job.code) << job.err;
  EXPECT_EQ("tferry: TFERRY_BUDGET=lots is not a budget; the job runs without Tensorferry\n", job.err);
}

TEST_F(Layers, WithoutADriverTheJobSaysSoItself) {
  auto variables = ferried("auto");
  variables["LD_LIBRARY_PATH"] = "";
  const Ended job = run_job(kLayers, variables);
  EXPECT_EQ(1, job.code);
  EXPECT_NE(std::string::npos, job.err.find("no CUDA driver")) << job.err;
  EXPECT_EQ(std::string::npos, job.err.find("tferry:")) << job.err;
  EXPECT_EQ(0, status()->driver_loaded);
}

TEST_F(Layers, ProgramsThatKnowNothingOfCudaAreLeftAlone) {
  const Ended job = run_job({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}, ferried("auto"));
  EXPECT_EQ(7, job.code);
  EXPECT_EQ("out\n", job.out);
  EXPECT_EQ("err\n", job.err);
}

}  // namespace
}  // namespace tferry::end_to_end
