// What of a job is recorded: ranges of the profiler API, of NVTX and of time.
#include "collector/activity_session.hpp"
#include "collector/testing/fake_cupti.hpp"
#include "collector/testing/spool_text.hpp"
#include "trace/spool_reader.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

namespace tferry::collector {
namespace {

constexpr const char* kEnableKernels = "enable 10";
constexpr const char* kDisableKernels = "disable 10";

class ActivityRangeTest : public ::testing::Test {
 protected:
  ActivityRangeTest() {
    choose_kinds(nullptr, config_);
    config_.buffers = 8;
    config_.ready_buffers = 0;
  }

  void start(const char* range) {
    std::string error;
    ASSERT_TRUE(trace::RangeRequest::parse(range, config_.range, error)) << error;
    spool_ = trace::SpoolWriter::open(path_, {.source = trace::SpoolSource::kCollector});
    session_ = std::make_unique<ActivitySession>(cupti_, *spool_, devices_, config_);
    ASSERT_TRUE(session_->start());
  }
  void profiler(CUpti_CallbackId id, CUpti_ApiCallbackSite site = CUPTI_API_ENTER) {
    CUpti_CallbackData data{};
    data.callbackSite = site;
    cupti_.callback(cupti_.callback_user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
  }
  void profiler_start() { profiler(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart); }
  void profiler_stop() { profiler(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop); }
  void nvtx(CUpti_CallbackId id, const char* name = nullptr) {
    const CUpti_NvtxData data{.functionName = "",
                              .functionParams = name == nullptr ? nullptr : &name,
                              .functionReturnValue = nullptr};
    cupti_.callback(cupti_.callback_user, CUPTI_CB_DOMAIN_NVTX, id, &data);
  }
  std::int64_t times(const std::string& call) {
    return std::count(cupti_.calls.begin(), cupti_.calls.end(), call);
  }
  std::vector<trace::RangeRecord> ranges() {
    std::vector<trace::RangeRecord> found;
    trace::SpoolReader reader(path_);
    while (const auto record = reader.next()) {
      if (const auto range = record->as<trace::RangeRecord>()) found.push_back(*range);
    }
    return found;
  }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "s";
  Config config_;
  FakeCupti cupti_;
  NoDevices devices_;
  std::unique_ptr<trace::SpoolWriter> spool_;
  std::unique_ptr<ActivitySession> session_;
};

TEST_F(ActivityRangeTest, WithoutARangeEverythingIsRecordedAndNoRangeIsTold) {
  start("");
  EXPECT_TRUE(cupti_.called(kEnableKernels));
  session_->finish();
  EXPECT_TRUE(ranges().empty());
  EXPECT_FALSE(cupti_.called(kDisableKernels));
}

TEST_F(ActivityRangeTest, OutsideTheRangeOnlyDevicesContextsAndStreamsAreRecorded) {
  start("cuda-profiler-api");
  EXPECT_TRUE(cupti_.called("enable 8"));
  EXPECT_FALSE(cupti_.called(kEnableKernels));
  profiler_start();
  EXPECT_TRUE(cupti_.called(kEnableKernels));
  profiler_stop();
  EXPECT_TRUE(cupti_.called(kDisableKernels));
  EXPECT_FALSE(cupti_.called("disable 8"));
}

// pytorch#144455: the job stayed slower after profiling had ended. Every kind that was enabled is disabled.
TEST_F(ActivityRangeTest, Pytorch144455AfterTheRangeNothingStaysOn) {
  config_.blocking_calls = true;
  start("cuda-profiler-api");
  const std::size_t before = cupti_.calls.size();
  profiler_start();
  std::vector<std::string> on(cupti_.calls.begin() + static_cast<std::ptrdiff_t>(before), cupti_.calls.end());
  profiler_stop();
  for (const std::string& call : on) {
    if (call.starts_with("enable_driver_call")) {
      EXPECT_TRUE(cupti_.called("dis" + call.substr(2))) << call;
    } else if (call.starts_with("enable ")) {
      EXPECT_TRUE(cupti_.called("disable " + call.substr(7))) << call;
    }
  }
  EXPECT_GT(on.size(), 5u);
}

TEST_F(ActivityRangeTest, ASecondRangeIsAsGoodAsTheFirst) {
  start("cuda-profiler-api");
  for (int i = 0; i < 2; ++i) {
    profiler_start();
    profiler_stop();
  }
  session_->finish();
  EXPECT_EQ(times(kEnableKernels), 2);
  EXPECT_EQ(times(kDisableKernels), 2);
  const auto found = ranges();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].number, 0u);
  EXPECT_EQ(found[1].number, 1u);
  EXPECT_LE(found[0].end_ns, found[1].time_ns);
}

TEST_F(ActivityRangeTest, ThenStopRecordsOneRangeOnly) {
  config_.stop_after_range = true;
  start("cuda-profiler-api");
  for (int i = 0; i < 3; ++i) {
    profiler_start();
    profiler_stop();
  }
  session_->finish();
  EXPECT_EQ(times(kEnableKernels), 1);
  EXPECT_EQ(ranges().size(), 1u);
}

TEST_F(ActivityRangeTest, ARangeThatIsOpenAtTheEndIsToldAsOpen) {
  start("cuda-profiler-api");
  profiler_start();
  session_->finish();
  ASSERT_EQ(ranges().size(), 1u);
  EXPECT_EQ(ranges()[0].end_ns, 0);
  EXPECT_GT(ranges()[0].time_ns, 0);
}

TEST_F(ActivityRangeTest, StartingTwiceAndStoppingTwiceIsOneRange) {
  start("cuda-profiler-api");
  profiler_stop();
  profiler_start();
  profiler_start();
  profiler(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, CUPTI_API_EXIT);
  profiler_stop();
  profiler_stop();
  session_->finish();
  EXPECT_EQ(ranges().size(), 1u);
  EXPECT_EQ(times(kEnableKernels), 1);
}

TEST_F(ActivityRangeTest, AnNvtxRangeOfTheNameIsRecorded) {
  start("nvtx:step");
  nvtx(CUPTI_CBID_NVTX_nvtxRangePushA, "load");
  EXPECT_FALSE(cupti_.called(kEnableKernels));
  nvtx(CUPTI_CBID_NVTX_nvtxRangePushA, "step");
  EXPECT_TRUE(cupti_.called(kEnableKernels));
  nvtx(CUPTI_CBID_NVTX_nvtxRangePop);
  EXPECT_TRUE(cupti_.called(kDisableKernels));
  session_->finish();
  EXPECT_EQ(ranges().size(), 1u);
}

TEST_F(ActivityRangeTest, ATimeIsRecordedWhenItIsDue) {
  start("time:20ms+30ms");
  for (int i = 0; i < 500 && !cupti_.called(kDisableKernels); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  session_->finish();
  ASSERT_EQ(ranges().size(), 1u);
  EXPECT_GE(ranges()[0].end_ns - ranges()[0].time_ns, 29'000'000);
}

TEST_F(ActivityRangeTest, IterationsNeedTheRuntimesHooksAndThatIsSaid) {
  config_.run_directory = directory_ / "";
  start("iterations:3..4");
  session_->finish();
  EXPECT_FALSE(cupti_.called(kEnableKernels));
  ASSERT_EQ(spool_text(path_, "loss range").size(), 1u);
}

TEST_F(ActivityRangeTest, ManyThreadsThatOpenAndCloseLeaveTheLastWord) {
  start("cuda-profiler-api");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < 50; ++n) {
        profiler_start();
        profiler_stop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  session_->finish();
  EXPECT_EQ(times(kEnableKernels), times(kDisableKernels));
  for (const trace::RangeRecord& range : ranges()) EXPECT_GE(range.end_ns, range.time_ns);
}

TEST_F(ActivityRangeTest, RangesThatCuptiCannotTellOfAreALoss) {
  cupti_.answers["enable_callback 1/" + std::to_string(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart)] =
      CUPTI_ERROR_INVALID_PARAMETER;
  start("cuda-profiler-api");
  session_->finish();
  ASSERT_EQ(spool_text(path_, "loss range").size(), 1u);
}

}  // namespace
}  // namespace tferry::collector
