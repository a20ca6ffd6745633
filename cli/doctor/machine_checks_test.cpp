#include "cli/doctor/machine_checks.hpp"

#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

Environment environment(std::vector<std::string> entries) {
  std::vector<char*> pointers;
  for (std::string& entry : entries) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return Environment(pointers.data());
}

PcieLink gpu_link(PcieSpeed now, int node = 0) {
  return {.address = "0000:19:00.0",
          .upstream = "0000:18:00.0",
          .parent = "",
          .gpu = true,
          .numa_node = node,
          .now = now,
          .most = {5, 16}};
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// A root folder with files of a machine.
class MachineTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_.path() / name).parent_path());
    std::ofstream(directory_.path() / name) << text << "\n";
  }
  Machine machine() const { return read_machine(directory_.path()); }
  testing_support::TemporaryDirectory directory_;
};

TEST_F(MachineTest, IsReadFromProcAndSys) {
  write("proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1");
  write("proc/self/status", "Name: x\nCpus_allowed_list:\t0-3,8");
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/cpu.max", "150000 100000");
  write("sys/fs/cgroup/job/pids.max", "100");
  write("sys/devices/system/node/node0/cpulist", "0-7");
  write("sys/devices/system/node/node1/cpulist", "8-15");
  write("sys/module/nvidia_uvm/refcnt", "1");
  const Machine read = machine();
  EXPECT_EQ(read.counters_for_all, false);
  EXPECT_TRUE(read.managed_memory_driver);
  EXPECT_EQ(read.allowed_cpus, (std::set{0, 1, 2, 3, 8}));
  EXPECT_EQ(read.cpus_of_node.at(1).size(), 8u);
  EXPECT_DOUBLE_EQ(read.cpu_limit.value(), 1.5);
  EXPECT_EQ(read.process_limit, 100);
}

TEST_F(MachineTest, WhatIsNotThereIsNotTold) {
  write("sys/fs/cgroup/cpu.max", "max 100000");
  write("sys/fs/cgroup/pids.max", "max");
  const Machine read = machine();
  EXPECT_FALSE(read.counters_for_all);
  EXPECT_FALSE(read.cpu_limit);
  EXPECT_FALSE(read.process_limit);
  EXPECT_TRUE(read.cpus_of_node.empty());
}

TEST(CpuList, AnythingElseIsEmpty) {
  EXPECT_EQ(parse_cpu_list("0-1,4"), (std::set{0, 1, 4}));
  for (const char* text : {"", "x", "3-1", "-1", "0-99999999"})
    EXPECT_TRUE(parse_cpu_list(text).empty()) << text;
}

TEST(CheckPcie, FewerLanesAreALossASlowIdleLinkIsNot) {
  EXPECT_EQ(check_pcie({gpu_link({5, 16})})[0].state, State::kUsable);
  const Finding idle = check_pcie({gpu_link({1, 16})})[0];
  EXPECT_EQ(idle.state, State::kUsable);
  EXPECT_TRUE(holds(idle.text, "under load"));
  const Finding narrow = check_pcie({gpu_link({5, 8})})[0];
  EXPECT_EQ(narrow.state, State::kLost);
  EXPECT_FALSE(narrow.fix.empty());
  EXPECT_EQ(check_pcie({}).size(), 1u);
}

// torchtitan#3489, vllm#30492, DeepSpeed#7474: host memory on another node than the GPU.
TEST(CheckNuma, TellsWhereAProcessMayRunAndItsGpusAre) {
  Machine machine;
  machine.cpus_of_node = {{0, {0, 1}}, {1, {2, 3}}};
  machine.allowed_cpus = {2, 3};
  EXPECT_EQ(check_numa({gpu_link({5, 16}, 1)}, machine).state, State::kUsable);
  const Finding far = check_numa({gpu_link({5, 16}, 0)}, machine);
  EXPECT_EQ(far.state, State::kLost);
  EXPECT_TRUE(holds(far.text, "all host memory is far"));
  EXPECT_TRUE(holds(far.fix, "--membind=0"));
  machine.allowed_cpus = {0, 1, 2, 3};
  EXPECT_EQ(check_numa({gpu_link({5, 16}, 0)}, machine).state, State::kLost);
  EXPECT_EQ(check_numa({gpu_link({5, 16}, 0), gpu_link({5, 16}, 1)}, machine).state, State::kUsable);
  machine.cpus_of_node.erase(1);
  EXPECT_EQ(check_numa({gpu_link({5, 16}, 0)}, machine).state, State::kUsable);
}

TEST(CheckLimits, NamesEachThatIsTooLow) {
  EXPECT_EQ(check_limits({}).state, State::kUsable);
  Machine machine;
  machine.cpu_limit = 0.5;
  machine.process_limit = 50;
  machine.file_limit = 64;
  const Finding finding = check_limits(machine);
  EXPECT_EQ(finding.state, State::kLost);
  for (const char* part : {"--cpus", "--pids-limit", "ulimit -n"})
    EXPECT_TRUE(holds(finding.fix, part)) << part;
}

// habitat#5, Paddle#35857, xprof#363, triton#4868: the message names the driver option and the capability.
TEST(CheckCounters, Habitat5Paddle35857Xprof363Triton4868NameOptionAndCapability) {
  Machine machine;
  machine.counters_for_all = false;
  const Finding finding = check_counter_permission(machine, false);
  EXPECT_EQ(finding.state, State::kLost);
  EXPECT_TRUE(holds(finding.fix, "NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_TRUE(holds(finding.fix, "CAP_SYS_ADMIN"));
  EXPECT_EQ(check_counter_permission(machine, true).state, State::kUsable);
  EXPECT_EQ(check_counter_permission({}, false).state, State::kUsable);
}

// DCGM#56, #62: counters owned by another tool.
TEST(CheckCounters, Dcgm62AnotherToolsCountersAreALossWithItsRemedy) {
  const Finding finding = check_counters(
      {.gpus = 1,
       .problem = "",
       .losses = {
           "GPU 0: no counters by CUPTI's PM sampling: owned; instead: PCIe rates by NVML, every 100 ms"}});
  EXPECT_EQ(finding.state, State::kLost);
  EXPECT_TRUE(holds(finding.text, "instead: PCIe rates by NVML"));
  EXPECT_TRUE(holds(finding.fix, "dcgmi profile --pause"));
  EXPECT_EQ(check_counters({.gpus = 2, .problem = "", .losses = {}}).state, State::kUsable);
  EXPECT_EQ(check_counters({.here = false, .problem = "", .losses = {}}).state, State::kLost);
}

// pytorch#118982: a library path breaks CUPTI. The path that is used is printed.
TEST_F(MachineTest, Pytorch118982TheCuptiThatWillBeUsedIsNamed) {
  write("mine/libcupti.so.13", "");
  write("toolkit/libcupti.so.13", "");
  const fs::path mine = directory_.path() / "mine/libcupti.so.13",
                 toolkit = directory_.path() / "toolkit/libcupti.so.13";
  const auto found =
      cupti_in_library_path(environment({"LD_LIBRARY_PATH=/absent:" + mine.parent_path().string()}));
  ASSERT_EQ(found, mine);
  const Finding shadowed = check_cupti(toolkit, {true, "version 130001"}, found);
  EXPECT_TRUE(holds(shadowed.text, mine.c_str()));
  EXPECT_TRUE(holds(shadowed.text, toolkit.c_str()));
  const Finding broken = check_cupti(toolkit, {false, "it died of signal 11"}, found);
  EXPECT_EQ(broken.state, State::kLost);
  EXPECT_TRUE(holds(broken.fix, "LD_LIBRARY_PATH"));
  EXPECT_TRUE(holds(check_cupti(toolkit, {true, "version 130001"}, {}).text, toolkit.c_str()));
  EXPECT_EQ(check_cupti({}, {}, {}).state, State::kLost);
}

TEST(CheckInjection, AnotherToolIsNamed) {
  EXPECT_EQ(check_injection(environment({})).state, State::kUsable);
  const Finding finding = check_injection(environment({"CUDA_INJECTION64_PATH=/opt/nsys.so"}));
  EXPECT_EQ(finding.state, State::kLost);
  EXPECT_TRUE(holds(finding.text, "/opt/nsys.so"));
}

TEST(CheckJax, SaysWhatItsVariablesMean) {
  EXPECT_TRUE(holds(check_jax(environment({})).text, "75 %"));
  EXPECT_FALSE(holds(check_jax(environment({"XLA_PYTHON_CLIENT_ALLOCATOR=platform"})).text, "75 %"));
}

}  // namespace
}  // namespace tferry::cli
