#include "cli/session/host_facts.hpp"

#include "cli/testing/fake_sysfs.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tferry::cli {
namespace {

TEST(HostFacts, AreReadAsTheyWereWritten) {
  HostFacts facts;
  facts.host = "node7";
  facts.boot_id = "b";
  facts.clock_error_ns = 120'000;
  facts.links = {{.address = "0000:19:00.0",
                  .upstream = "0000:18:00.0",
                  .parent = "0000:16:00.0",
                  .gpu = true,
                  .numa_node = 1,
                  .now = {4, 8},
                  .most = {5, 16}}};
  facts.calibration.emplace();
  facts.calibration->host = "node7";
  const testing_support::TemporaryDirectory directory;
  std::ofstream(directory.path() / "host.json") << to_json(facts);
  const auto read = read_host_facts_file(directory.path() / "host.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(facts));
}

TEST(HostFacts, AFileThatIsNoneCountsAsMissing) {
  const testing_support::TemporaryDirectory directory;
  EXPECT_FALSE(read_host_facts_file(directory.path() / "host.json"));
  for (const char* text : {"", "[]", "{\"format\":\"tferry-host\",\"version\":1}", "{\"format\":\"x\"}"}) {
    std::ofstream(directory.path() / "host.json") << text;
    EXPECT_FALSE(read_host_facts_file(directory.path() / "host.json")) << text;
  }
}

TEST(HostFacts, AreThoseOfThisMachine) {
  testing_support::FakeSysfs sysfs;
  sysfs.gpu("pci0000:00/0000:00:06.0", "32.0 GT/s PCIe", 16, 0);
  const HostFacts facts = read_host_facts(sysfs.root());
  EXPECT_FALSE(facts.host.empty());
  EXPECT_FALSE(facts.boot_id.empty());
  EXPECT_EQ(facts.links.size(), 1u);
}

}  // namespace
}  // namespace tferry::cli
