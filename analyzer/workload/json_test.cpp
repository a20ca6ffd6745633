#include "analyzer/workload/json.hpp"

#include "analyzer/workload/random_workload.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace tferry::analyzer {
namespace {

const std::string kGood = R"({
  "schema": "tferry.workload/1", "name": "two", "source": "manual", "budget": 140,
  "link": {"in_gbps": 55, "out_gbps": 55, "duplex_in_gbps": 46, "duplex_out_gbps": 46},
  "tensors": [{"name": "w", "size": 100}, {"name": "a", "size": 40, "birth": 0, "death": 1}],
  "operations": [
    {"name": "f", "duration_ns": 10, "accesses": [{"tensor": "w", "kind": "read"}, {"tensor": "a", "kind": "overwrite"}]},
    {"name": "b", "duration_ns": 20, "gap_ns": 3, "accesses": [{"tensor": "a", "kind": "may-touch"}]}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  try {
    workload_from_json(text);
  } catch (const WorkloadError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(WorkloadJson, ReadsWhatThePageSays) {
  const Workload workload = workload_from_json(kGood);
  EXPECT_EQ(workload.operations.size(), 2u);
  EXPECT_EQ(workload.operations[1].gap_ns, 3);
  EXPECT_EQ(workload.operations[0].accesses[1], (Access{1, AccessKind::kOverwrite}));
  EXPECT_TRUE(workload.tensors[0].persistent);
  EXPECT_EQ(workload.tensors[1].death, 1u);
  EXPECT_EQ(workload.link.duplex_out, 46);
}

TEST(WorkloadJson, NamesThePlaceOfAnError) {
  EXPECT_EQ(error_of(with("\"size\": 100", "\"size\": -1")),
            "tensors[0].size: a whole number from 0 to 1125899906842624 is expected here");
  EXPECT_EQ(error_of(with("\"size\": 100", "\"size\": 1e300")),
            "tensors[0].size: a whole number from 0 to 1125899906842624 is expected here");
  EXPECT_EQ(error_of(with("\"size\": 100", "\"size\": 0")),
            "tensors[0].size: 0 bytes is not a size of a tensor");
  EXPECT_EQ(error_of(with("\"size\": 100", "\"sise\": 100")), "tensors[0].sise: is not known here");
  EXPECT_EQ(error_of(with("{\"tensor\": \"w\"", "{\"tensor\": \"x\"")),
            "operations[0].accesses[0].tensor: no tensor is named 'x'");
  EXPECT_EQ(error_of(with("\"kind\": \"read\"", "\"kind\": \"look\"")),
            "operations[0].accesses[0].kind: 'look' is none of read, update, overwrite, may-touch");
  EXPECT_EQ(error_of(with("\"birth\": 0, \"death\": 1", "\"birth\": 0, \"death\": 0")),
            "operations[1].accesses[0].tensor: 'a' is allocated only from operation 0 to operation 0");
  EXPECT_EQ(error_of(with("\"death\": 1", "\"death\": 2")), "tensors[1].death: there are only 2 operations");
  EXPECT_EQ(error_of(with("\"name\": \"a\"", "\"name\": \"w\"")),
            "tensors[1].name: 'w' is the name of an earlier tensor");
  EXPECT_EQ(error_of(with("\"budget\": 140", "\"budget\": 139")),
            "budget: operation 0 ('f') alone touches 140 bytes, the budget is 139");
  EXPECT_EQ(error_of(with("\"duplex_in_gbps\": 46", "\"duplex_in_gbps\": 56")),
            "link: a direction is faster while both are busy than alone");
  EXPECT_EQ(error_of(with("\"in_gbps\": 55", "\"in_gbps\": 0")),
            "link.in_gbps: 0 GB/s is not a rate between 0 and 1,000,000");
  EXPECT_EQ(error_of(with("workload/1", "workload/2")),
            "schema: 'tferry.workload/2' is not 'tferry.workload/1'");
  EXPECT_EQ(error_of(with("\"operations\"", "\"operation\"")), "operation: is not known here");
  EXPECT_EQ(error_of(with("\"duration_ns\": 10", "\"duration_ns\": \"10\"")),
            "operations[0].duration_ns: a whole number from 0 to 1125899906842624 is expected here");
}

TEST(WorkloadJson, AnythingElseIsAnErrorNotACrash) {
  for (const char* text : {"", "[]", "null", "{", "{}", "3", "{\"schema\": 1}", "\xff\xfe"}) {
    EXPECT_NE(error_of(text), "accepted") << text;
  }
  for (std::size_t length = 0; length < kGood.size(); ++length) {
    EXPECT_NE(error_of(kGood.substr(0, length)), "accepted");
  }
}

RC_GTEST_PROP(WorkloadJsonProperty, WritingAndReadingGivesTheSame, (std::uint32_t seed)) {
  const Workload workload = random_workload(seed, 3 + seed % 20, 1 + seed % 30);
  RC_ASSERT(workload_from_json(to_json(workload)) == workload);
}

}  // namespace
}  // namespace tferry::analyzer
