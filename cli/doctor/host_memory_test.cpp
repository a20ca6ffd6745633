#include "cli/doctor/host_memory.hpp"

#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tferry::cli {
namespace {

class HostMemoryTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto file = root_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  HostMemory read() const { return read_host_memory(root_.path()); }

  testing_support::TemporaryDirectory root_;
};

TEST_F(HostMemoryTest, TakesTheTightestGroupOnTheWayUp) {
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    800 kB\n");
  write("proc/self/cgroup", "0::/slice/job\n");
  write("sys/fs/cgroup/slice/job/memory.max", "max\n");
  write("sys/fs/cgroup/slice/memory.max", "500000\n");
  write("sys/fs/cgroup/slice/memory.current", "100000\n");
  write("sys/fs/cgroup/memory.max", "900000\n");
  const HostMemory memory = read();
  EXPECT_EQ(memory.total, 1'024'000);
  EXPECT_EQ(memory.group_limit, 500'000);
  EXPECT_EQ(memory.usable(), 400'000);
}

TEST_F(HostMemoryTest, ReadsVersionOneAndItsWayToSayUnlimited) {
  write("proc/self/cgroup", "9:cpu:/x\n8:memory:/docker/abc\n0::/\n");
  write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "700000\n");
  write("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "200000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read().usable(), 500'000);
}

TEST_F(HostMemoryTest, WithoutALimitTheMachineCounts) {
  write("proc/meminfo", "MemAvailable:    800 kB\n");
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(read().group_limit, std::nullopt);
  EXPECT_EQ(read().usable(), 819'200);
}

TEST_F(HostMemoryTest, NothingKnownIsUnknown) {
  EXPECT_EQ(read().usable(), std::nullopt);
  write("proc/meminfo", "MemAvailable:  99999999999999999999 kB\n");
  write("proc/self/cgroup", "nonsense\n0::/../../escape\n::::\n");
  EXPECT_EQ(read().usable(), std::nullopt);
}

TEST(HostMemory, OfThisMachineIsKnown) { EXPECT_GT(read_host_memory().usable().value_or(0), 0); }

}  // namespace
}  // namespace tferry::cli
