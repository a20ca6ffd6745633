#include "cli/session/build_session.hpp"

#include "cli/testing/temporary_directory.hpp"
#include "trace/session.hpp"
#include "trace/spool_writer.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

class BuildSessionTest : public testing::Test {
 protected:
  std::unique_ptr<trace::SpoolWriter> spool(trace::SpoolSource source) {
    return trace::SpoolWriter::open_in(directory_.path().string(), {.source = source});
  }
  BuiltSession build() {
    return build_session({{.spools = find_spools(directory_.path()), .facts = {}}},
                         directory_.path() / "a.tferry", false, {});
  }
  testing_support::TemporaryDirectory directory_;
};

// tokenspeed#1348: no GPU records at all, reported as success. Launches without records are an error with its
// cause.
TEST_F(BuildSessionTest, Tokenspeed1348LaunchesWithoutAnyRecordAreALossWithItsLikelyCause) {
  {
    auto hooks = spool(trace::SpoolSource::kRuntime);
    for (std::uint64_t i = 1; i <= 5; ++i) {
      trace::KernelLaunchRecord launch;
      launch.time_ns = static_cast<std::int64_t>(i) * 1000;
      launch.return_ns = launch.time_ns + 10;
      launch.operation = i;
      launch.sequence = i - 1;
      launch.name = hooks->intern("gemm");
      hooks->append(launch);
    }
    auto collector = spool(trace::SpoolSource::kCollector);
  }
  const BuiltSession built = build();
  EXPECT_EQ(built.report.kernels, 0);
  EXPECT_EQ(built.report.kernel_calls, 5);
  trace::Session session = trace::Session::open(built.path.string());
  EXPECT_EQ(session.integer(
                "SELECT count FROM loss WHERE what = 'kernel' AND detail LIKE '%CUPTI delivered no kernel%'"),
            5);
  const auto lines = describe_losses(built.path, 6);
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("another tool may have claimed it"), std::string::npos) << lines[0];
}

TEST_F(BuildSessionTest, ApiCallsAndRangesAreInTheSession) {
  {
    auto collector = spool(trace::SpoolSource::kCollector);
    trace::ApiCallRecord call;
    call.time_ns = 100;
    call.end_ns = 300;
    call.name = collector->intern("cuMemAlloc_v2");
    call.thread = 9;
    collector->append(call);
    call.time_ns = 400;  // reversed: counted, and kept out
    collector->append(call);
    trace::RangeRecord range;
    range.time_ns = 50;
    range.end_ns = 500;
    range.what = collector->intern("nvtx:step");
    collector->append(range);
    trace::NvlinkRecord nvlink;
    nvlink.first_uuid[0] = 2;
    nvlink.second_uuid[0] = 1;
    nvlink.bytes_per_second = 450;
    collector->append(nvlink);
    collector->append(nvlink);
  }
  trace::Session session = trace::Session::open(build().path.string());
  EXPECT_EQ(session.integer("SELECT end_ns - start_ns FROM api_call JOIN string ON string.id = name_id WHERE "
                            "value = 'cuMemAlloc_v2'"),
            200);
  EXPECT_EQ(session.integer("SELECT count FROM loss WHERE what = 'api_call' AND reason = 'bad_time'"), 1);
  EXPECT_EQ(session.integer("SELECT count(*) FROM recorded_range WHERE what = 'nvtx:step' AND end_ns = 500"),
            1);
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE kind = 'nvlink' AND upstream < downstream AND "
                            "known_by = 'nominal'"),
            1);
}

}  // namespace
}  // namespace tferry::cli
