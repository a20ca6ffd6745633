#include "trace/range_request.hpp"

#include <gtest/gtest.h>

namespace tferry::trace {
namespace {

RangeRequest parsed(const char* text) {
  RangeRequest request;
  std::string error;
  EXPECT_TRUE(RangeRequest::parse(text, request, error)) << error;
  return request;
}

TEST(RangeRequest, UnderstandsEveryForm) {
  EXPECT_EQ(parsed("").kind, RangeRequest::Kind::kAll);
  EXPECT_EQ(parsed("cuda-profiler-api").kind, RangeRequest::Kind::kProfilerApi);
  EXPECT_EQ(parsed("nvtx:step").name, "step");
  EXPECT_EQ(parsed("nvtx:step").domain, "");
  EXPECT_EQ(parsed("nvtx:a@b@torch").name, "a@b");
  EXPECT_EQ(parsed("nvtx:a@b@torch").domain, "torch");
  EXPECT_EQ(parsed("time:1.5s+200ms").start_ns, 1'500'000'000);
  EXPECT_EQ(parsed("time:0s+200ms").duration_ns, 200'000'000);
  EXPECT_EQ(parsed("iterations:10..12").first, 10);
  EXPECT_EQ(parsed("iterations:10..12").last, 12);
  EXPECT_EQ(parsed("iterations:0..0").kind, RangeRequest::Kind::kIterations);
}

TEST(RangeRequest, RefusesEverythingElseAndLeavesTheRequestAsItWas) {
  for (const char* text :
       {"all", "nvtx:", "nvtx:@d", "nvtx:x@", "time:", "time:3s", "time:3+4", "time:-1s+2s", "time:1s+0s",
        "time:1s+nans", "time:1e30s+1s", "iterations:", "iterations:3", "iterations:4..3", "iterations:-1..3",
        "iterations:1..2x", "iterations:..", "cuda-profiler-api "}) {
    RangeRequest request = parsed("nvtx:before");
    std::string error;
    EXPECT_FALSE(RangeRequest::parse(text, request, error)) << text;
    EXPECT_NE(error.find("is no range"), std::string::npos) << text;
    EXPECT_EQ(request.name, "before");
  }
}

}  // namespace
}  // namespace tferry::trace
