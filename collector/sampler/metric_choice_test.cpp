#include "collector/sampler/metric_choice.hpp"

#include "collector/sampler/pm_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::collector {
namespace {

const std::vector<std::string> kPcie = {"pcie__read_bytes.sum", "pcie__write_bytes.sum"};

TEST(MetricChoiceTest, FindsAMetricByItsPlainName) {
  const std::vector<std::string> base = {"PCI.TriageCompute.pcie__read_bytes", "pcie__read_bytes"};
  EXPECT_EQ(find_metric("pcie__read_bytes.sum", base), "pcie__read_bytes.sum");
  EXPECT_EQ(find_metric("nvlrx__bytes.sum", base), "");
}

TEST(MetricChoiceTest, PrefersTheComputeGroupWhereThereIsNoPlainName) {
  const std::vector<std::string> base = {"PCI.TriageAC.pcie__read_bytes",
                                         "PCI.TriageCompute.pcie__read_bytes",
                                         "PCI.TriageSCG.pcie__read_bytes"};
  EXPECT_EQ(find_metric("pcie__read_bytes.sum", base), "PCI.TriageCompute.pcie__read_bytes.sum");
}

TEST(MetricChoiceTest, KnowsTheOtherSpellingOfDramBytes) {
  const std::vector<std::string> base = {"dram__bytes_op_read"};
  EXPECT_EQ(find_metric("dram__bytes_read.sum", base), "dram__bytes_op_read.sum");
}

TEST(MetricChoiceTest, TakesAsManyAsFitOnePassInOrder) {
  const std::vector<std::string> base = {"a", "b", "c", "d"},
                                 wish = {"a.sum", "x.sum", "b.sum", "c.sum", "d.sum"};
  const auto chosen = choose_metrics(wish, base, [](std::span<const std::string> names) {
    if (std::find(names.begin(), names.end(), "b.sum") != names.end()) return 0;  // impossible beside a
    return names.size() <= 2 ? 1 : 2;
  });
  std::vector<std::string> counters;
  for (const Metric& metric : chosen) counters.push_back(metric.counter);
  EXPECT_EQ(counters, (std::vector<std::string>{"a.sum", "c.sum"}));
}

/// The real lists of CUPTI, which need no GPU.
class MetricChoiceOfChipTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MetricChoiceOfChipTest, PcieBothWaysFitsOnePass) {
  PmHost host(GetParam());
  const auto chosen = choose_metrics(usual_counters(), host.base_metrics(),
                                     [&](std::span<const std::string> names) { return host.passes(names); });
  std::vector<std::string> names, counters;
  for (const Metric& metric : chosen) {
    names.push_back(metric.name);
    counters.push_back(metric.counter);
  }
  for (const std::string& counter : kPcie) {
    EXPECT_NE(std::find(counters.begin(), counters.end(), counter), counters.end()) << counter;
  }
  EXPECT_EQ(host.passes(names), 1);
  EXPECT_FALSE(host.configure(names).empty());
}

INSTANTIATE_TEST_SUITE_P(Chips, MetricChoiceOfChipTest,
                         ::testing::Values("GA100", "GA102", "GH100", "AD102", "GB100", "GB202"));

TEST(MetricChoiceTest, TheH200GetsPcieAndDramBothWays) {
  PmHost host("GH100");
  const auto chosen = choose_metrics(usual_counters(), host.base_metrics(),
                                     [&](std::span<const std::string> names) { return host.passes(names); });
  ASSERT_GE(chosen.size(), 6u);
  EXPECT_EQ(chosen[0].name, "pcie__read_bytes.sum");
  EXPECT_EQ(chosen[1].name, "pcie__write_bytes.sum");
  EXPECT_EQ(chosen[2].name, "dram__bytes_read.sum");
  EXPECT_EQ(chosen[3].name, "dram__bytes_write.sum");
  EXPECT_EQ(chosen[4].name, "sm__cycles_active.avg");
  EXPECT_EQ(chosen[5].name, "gpc__cycles_elapsed.max");
}

TEST(MetricChoiceTest, AChipThatCuptiDoesNotKnowIsAnErrorWithItsName) {
  try {
    PmHost host("ZX99");
    FAIL() << "a host object for no chip";
  } catch (const PmError& error) {
    EXPECT_NE(std::string(error.what()).find("cuptiProfilerHostInitialize answered CUPTI_ERROR_"),
              std::string::npos)
        << error.what();
  }
}

TEST(MetricChoiceTest, OneUnknownNameIsNoPass) {
  PmHost host("GH100");
  EXPECT_EQ(host.passes(std::vector<std::string>{"pcie__read_bytes.sum", "no__such_metric.sum"}), 0);
}

}  // namespace
}  // namespace tferry::collector
