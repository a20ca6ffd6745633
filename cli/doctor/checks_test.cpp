#include "cli/doctor/checks.hpp"

#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>

namespace tferry::cli {
namespace {

using State = Finding::State;

std::vector<Finding> check_driver_that_says(const DriverInfo& info) {
  return check_driver({true, driver_info_to_json(info)});
}

TEST(CheckDriver, TellsDriverAndGpus) {
  DriverInfo info;
  info.path = "/usr/lib/libcuda.so.1";
  info.cuda_version = 13000;
  info.driver_version = "580.1";
  info.gpus = {{"NVIDIA H200", 139LL << 30, 100LL << 30}, {"", {}, {}}};
  const auto findings = check_driver_that_says(info);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].text, "CUDA 13.0, driver 580.1, /usr/lib/libcuda.so.1");
  EXPECT_EQ(findings[1].text, "NVIDIA H200, 139 GiB in all, 100 GiB free");
  EXPECT_EQ(findings[2].text, "name unknown, unknown in all, unknown free");
  EXPECT_EQ(exit_code_of(findings), 0);
}

TEST(CheckDriver, NothingWorksWithoutDriverOrGpu) {
  EXPECT_EQ(exit_code_of(check_driver({false, "it took longer than 10000 ms"})), 2);
  EXPECT_EQ(exit_code_of(check_driver({true, "no json"})), 2);
  EXPECT_EQ(exit_code_of(check_driver({true, "{}"})), 2);
  DriverInfo info;
  EXPECT_EQ(exit_code_of(check_driver_that_says(info)), 2) << "no GPU";
  info.error = "no CUDA driver";
  EXPECT_EQ(exit_code_of(check_driver_that_says(info)), 2);
}

TEST(CheckInstallation, NamesTheLibraryOrTheWayToGetIt) {
  const testing_support::TemporaryDirectory directory;
  const Finding finding = check_installation(Installation(directory.path() / "bin" / "tferry"));
  EXPECT_EQ(finding.state, State::kBroken);
  EXPECT_FALSE(finding.fix.empty());
}

TEST(CheckHostMemory, LittleMemoryIsALoss) {
  HostMemory memory;
  EXPECT_EQ(check_host_memory(memory).state, State::kUsable) << "unknown is no loss";
  EXPECT_NE(check_host_memory(memory).text.find("unknown usable"), std::string::npos);
  memory.available = 1LL << 30;
  EXPECT_EQ(check_host_memory(memory).state, State::kLost);
  memory.available = 64LL << 30;
  EXPECT_EQ(check_host_memory(memory).state, State::kUsable);
  memory.group_limit = 2LL << 30;
  EXPECT_EQ(check_host_memory(memory).state, State::kLost);
}

TEST(CheckSharedMemory, SmallOrMissingIsALoss) {
  EXPECT_EQ(check_shared_memory(std::nullopt).state, State::kLost);
  EXPECT_EQ(check_shared_memory(64LL << 20).state, State::kLost);
  EXPECT_EQ(check_shared_memory(1LL << 30).state, State::kUsable);
}

TEST(CheckPreload, MissingLibrariesAreTold) {
  Environment environment(nullptr);
  EXPECT_EQ(check_preload(environment).front().state, State::kUsable);
  environment.set("LD_PRELOAD", "/no/such/library.so libc.so.6:/x/libtferry_runtime.so");
  const auto findings = check_preload(environment);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].state, State::kLost);
  EXPECT_EQ(findings[1].state, State::kUsable);
  EXPECT_EQ(findings[2].state, State::kUsable);
}

TEST(CheckPytorch, SaysWhatRunWillDoAndWhatTheUserSet) {
  Environment environment(nullptr);
  environment.set("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync");
  const Finding finding = check_pytorch(environment);
  EXPECT_NE(finding.text.find("is kept as you set it"), std::string::npos);
  EXPECT_NE(finding.text.find("you set PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync"), std::string::npos);
}

TEST(Findings, AreWrittenWithTheirFixes) {
  const std::vector<Finding> findings = {{"a", State::kUsable, "fine", ""},
                                         {"b", State::kLost, "less", "do this"}};
  EXPECT_EQ(exit_code_of(findings), 1);
  EXPECT_NE(findings_to_text(findings).find("what to do: do this"), std::string::npos);
  const auto json = nlohmann::json::parse(findings_to_json(findings));
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["findings"][1]["fix"], "do this");
}

}  // namespace
}  // namespace tferry::cli
