// A workload in JSON becomes a session that the other commands take.
#include "cli/testing/program_fixture.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tferry::cli {
namespace {

constexpr const char* kWorkload = R"({
  "schema": "tferry.workload/1", "name": "turns", "source": "manual", "budget": 100000000,
  "link": {"in_gbps": 50, "out_gbps": 50, "duplex_in_gbps": 40, "duplex_out_gbps": 40},
  "tensors": [{"name": "a", "size": 67108864}, {"name": "b", "size": 67108864}],
  "operations": [
    {"name": "op", "duration_ns": 1000000, "accesses": [{"tensor": "a", "kind": "read"}]},
    {"name": "op", "duration_ns": 1000000, "accesses": [{"tensor": "b", "kind": "read"}]}]})";

class ImportTest : public testing_support::ProgramTest {
 protected:
  void write(const std::string& name, const std::string& text) const { std::ofstream(root_ / name) << text; }
};

TEST_F(ImportTest, AWorkloadIsAnalyzedLikeARecordedJob) {
  write("turns.json", kWorkload);
  const auto imported = sh("$T import turns.json -o turns.tferry");
  ASSERT_EQ(imported.exit_code(), 0) << imported.err;
  EXPECT_TRUE(imported.told("next: tferry analyze turns.tferry --budget 100000000")) << imported.err;
  const auto analyzed = sh("$T analyze turns.tferry --budget 100000000");
  ASSERT_EQ(analyzed.exit_code(), 0) << analyzed.err;
  EXPECT_TRUE(analyzed.printed("bound: no plan is faster")) << analyzed.out;
}

TEST_F(ImportTest, AnErrorNamesThePlaceAndNothingIsWritten) {
  std::string text = kWorkload;
  text.replace(text.find("\"tensor\": \"b\""), 13, "\"tensor\": \"c\"");
  write("bad.json", text);
  const auto refused = sh("$T import bad.json -o bad.tferry");
  EXPECT_EQ(refused.exit_code(), 125);
  EXPECT_TRUE(refused.told("operations[1].accesses[0].tensor: no tensor is named 'c'")) << refused.err;
  EXPECT_FALSE(testing_support::fs::exists(root_ / "bad.tferry"));
}

}  // namespace
}  // namespace tferry::cli
