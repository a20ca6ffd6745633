#include "collector/activity_session.hpp"

#include "collector/testing/fake_cupti.hpp"
#include "collector/testing/spool_text.hpp"
#include "trace/test_directory.hpp"
#include "trace/unified_memory_sign.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tferry::collector {
namespace {

constexpr std::int64_t kNever = 3'600'000'000'000;

class ActivitySessionTest : public ::testing::Test {
 protected:
  ActivitySessionTest() {
    choose_kinds(nullptr, config_);
    config_.buffers = 8;
    config_.ready_buffers = 0;
    config_.flush_interval_ns = kNever;
    config_.exit_timeout_ns = 60'000'000'000;
  }

  bool start() {
    spool_ = trace::SpoolWriter::open(path_, {.source = trace::SpoolSource::kCollector});
    session_ = std::make_unique<ActivitySession>(cupti_, *spool_, devices_, config_);
    return session_->start();
  }
  void finish() { session_->finish(); }
  std::vector<std::string> lines(const std::string& start = "") { return spool_text(path_, start); }

  void resource(CUpti_CallbackIdResource id, std::uintptr_t context, std::uintptr_t stream = 0) {
    CUpti_ResourceData data{};
    data.context = reinterpret_cast<CUcontext>(context);
    data.resourceHandle.stream = reinterpret_cast<CUstream>(stream);
    cupti_.callback(cupti_.callback_user, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
  }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "s";
  Config config_;
  FakeCupti cupti_;
  NoDevices devices_;
  std::unique_ptr<trace::SpoolWriter> spool_;
  std::unique_ptr<ActivitySession> session_;
};

TEST_F(ActivitySessionTest, TakesCuptiThenSetsTheClockThenEnables) {
  ASSERT_TRUE(start());
  const std::vector<std::string> begin(cupti_.calls.begin(), cupti_.calls.begin() + 5);
  EXPECT_EQ(begin, (std::vector<std::string>{"subscribe", "register_timestamp", "register_buffers",
                                             "set_system_thread_ids", "enable 8"}));
  finish();
  EXPECT_TRUE(cupti_.called("flush forced"));
  EXPECT_EQ(trace::SpoolReader(path_).status()->state, trace::SpoolState::kClosed);
}

TEST_F(ActivitySessionTest, ItsClockIsTheHostsMonotonicOne) {
  ASSERT_TRUE(start());
  const std::int64_t before = trace::SpoolWriter::now_ns();
  const auto told = static_cast<std::int64_t>(cupti_.clock());
  EXPECT_GE(told, before);
  EXPECT_LE(told, trace::SpoolWriter::now_ns());
  finish();
}

TEST_F(ActivitySessionTest, RecordsReachTheSpoolInTheirOrder) {
  ASSERT_TRUE(start());
  RecordBuilder first, second;
  first.add(kernel_activity("a", 1, 2)).add(kernel_activity("b", 3, 4));
  second.add(memcpy_activity(100, 5, 6));
  ASSERT_TRUE(cupti_.give(first));
  ASSERT_TRUE(cupti_.give(second));
  finish();
  EXPECT_EQ(lines(), (std::vector<std::string>{"kernel a 1..2", "kernel b 3..4", "memcpy 100 5..6"}));
}

TEST_F(ActivitySessionTest, PlainFlushesGoOnWhileItRuns) {
  config_.flush_interval_ns = 1'000'000;
  cupti_.on_flush.emplace_back().add(kernel_activity("early", 1, 2));
  ASSERT_TRUE(start());
  while (lines("kernel").empty()) std::this_thread::yield();
  EXPECT_FALSE(cupti_.called("flush forced"));
  finish();
}

// kineto#95: the last flush is forced, so that buffers with unfinished records come back.
TEST_F(ActivitySessionTest, Kineto95ForcedFlushAtTheEndBringsUnfinishedRecords) {
  cupti_.on_forced_flush.emplace_back().add(kernel_activity("running", 10, 0));
  ASSERT_TRUE(start());
  finish();
  EXPECT_EQ(lines(), std::vector<std::string>{"kernel running 10..0"});
}

// pytorch#117935: a second CUPTI client in the process.
TEST_F(ActivitySessionTest, Pytorch117935ASecondClientIsLeftAloneAndNamed) {
  cupti_.answers["subscribe"] = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  cupti_.holder_name = "Nsight Systems";
  EXPECT_FALSE(start());
  EXPECT_EQ(cupti_.calls, std::vector<std::string>{"subscribe"});
  finish();
  EXPECT_EQ(cupti_.calls, std::vector<std::string>{"subscribe"});
  EXPECT_EQ(lines(),
            std::vector<std::string>{
                "loss kernel -1 CUPTI refused to record: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED "
                "(39), held by Nsight Systems. Another profiler has CUPTI in this process (Nsight, "
                "compute-sanitizer, cuda-gdb, the PyTorch profiler): end it to record with Tensorferry"});
}

// rapidsmpf#500: under compute-sanitizer the answer is status 39, without a name.
TEST_F(ActivitySessionTest, Rapidsmpf500ComputeSanitizerIsToldAsAnotherProfiler) {
  cupti_.answers["subscribe"] = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_FALSE(start());
  finish();
  ASSERT_EQ(lines("loss").size(), 1u);
  EXPECT_NE(lines("loss")[0].find("compute-sanitizer"), std::string::npos);
  EXPECT_EQ(lines("loss")[0].find("held by"), std::string::npos);
}

// habitat#5, Paddle#35857, xprof#363, triton#4868: the message names the driver option and the capability.
TEST_F(ActivitySessionTest, Habitat5InsufficientPrivilegesCostOneKindAndSayWhatToDo) {
  cupti_.answers["enable 10"] = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  ASSERT_TRUE(start());
  EXPECT_TRUE(cupti_.called("enable 1"));
  finish();
  EXPECT_EQ(lines(),
            std::vector<std::string>{
                "loss kernel -1 CUPTI refused kernel records (activity kind 10): "
                "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35). Allow it with the driver option "
                "NVreg_RestrictProfilingToAdminUsers=0, or give the program (container) the capability "
                "CAP_SYS_ADMIN"});
}

// pytorch#192094: a failed query of dropped records is "unknown", never 0, and said once.
TEST_F(ActivitySessionTest, Pytorch192094DroppedRecordsOfUnknownNumberAreMinusOne) {
  cupti_.answers["dropped_records"] = CUPTI_ERROR_INVALID_OPERATION;
  config_.flush_interval_ns = 1'000'000;
  ASSERT_TRUE(start());
  while (lines("loss").empty()) std::this_thread::yield();
  finish();
  EXPECT_EQ(lines("loss"), std::vector<std::string>{"loss none -1 CUPTI refused to tell how many records it "
                                                    "dropped: CUPTI_ERROR_INVALID_OPERATION (7)"});
}

TEST_F(ActivitySessionTest, DroppedRecordsAreCounted) {
  cupti_.dropped = 17;
  ASSERT_TRUE(start());
  finish();
  EXPECT_EQ(lines(),
            std::vector<std::string>{"loss none 17 Activity records that CUPTI dropped, of whatever kind"});
}

// nccl#1108, pytorch#60158: the job never waits for the profiler for ever.
TEST_F(ActivitySessionTest, Nccl1108Pytorch60158AFlushThatHangsDoesNotHoldTheJobUp) {
  config_.exit_timeout_ns = 20'000'000;
  ASSERT_TRUE(start());
  cupti_.hold_flush(true);
  finish();
  EXPECT_EQ(lines("loss"),
            std::vector<std::string>{"loss none -1 CUPTI did not give its last records back within 20 "
                                     "ms: the job ended without them"});
  EXPECT_EQ(trace::SpoolReader(path_).status()->state, trace::SpoolState::kClosed);
  cupti_.hold_flush(false);
  session_.reset();
}

TEST_F(ActivitySessionTest, BuffersThatRunOutAreDeclinedAndTold) {
  config_.buffers = 1;
  ASSERT_TRUE(start());
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, records = 7;
  cupti_.request(&buffer, &size, &records);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(size, BufferPool::kBufferBytes);
  EXPECT_EQ(records, 0u);
  std::uint8_t* second = nullptr;
  cupti_.request(&second, &size, &records);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(size, 0u);
  finish();
  EXPECT_EQ(lines("loss"),
            std::vector<std::string>{"loss none -1 CUPTI asked 1 times for a buffer when all 1 were in use"});
}

TEST_F(ActivitySessionTest, ABufferThatEndsInGarbageIsReadUpToIt) {
  ASSERT_TRUE(start());
  RecordBuilder buffer;
  CUpti_ActivityKernel10 garbage = kernel_activity("x", 1, 2);
  garbage.kind = static_cast<CUpti_ActivityKind>(0x7ffffff0);
  buffer.add(kernel_activity("good", 1, 2)).add(garbage);
  ASSERT_TRUE(cupti_.give(buffer));
  finish();
  EXPECT_EQ(lines(),
            (std::vector<std::string>{"kernel good 1..2",
                                      "loss none -1 1 buffers of CUPTI ended in a record that is none"}));
}

TEST_F(ActivitySessionTest, WithoutTheHostClockTimesAreConverted) {
  cupti_.answers["register_timestamp"] = CUPTI_ERROR_NOT_SUPPORTED;
  const std::int64_t before = trace::SpoolWriter::now_ns();
  ASSERT_TRUE(start());
  const std::int64_t after = trace::SpoolWriter::now_ns();
  RecordBuilder buffer;
  buffer.add(kernel_activity("k", 1'000'000'000'000'000'000, 1'000'000'000'000'000'500));
  ASSERT_TRUE(cupti_.give(buffer));
  finish();
  trace::SpoolReader reader(path_);
  int kernels = 0;
  while (const auto record = reader.next()) {
    const auto kernel = record->as<trace::KernelActivityRecord>();
    if (!kernel) continue;
    ++kernels;
    EXPECT_GE(kernel->time_ns, before);
    EXPECT_LE(kernel->time_ns, after);
    EXPECT_EQ(kernel->end_ns - kernel->time_ns, 500);
  }
  EXPECT_EQ(kernels, 1);
  EXPECT_EQ(lines("loss").size(), 1u);
}

TEST_F(ActivitySessionTest, NewContextsAndStreamsAreTiedToTheirHandles) {
  ASSERT_TRUE(start());
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0xc0);
  resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, 0xc0, 0x50);
  resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, 0xc0, 0);
  finish();
  EXPECT_EQ(lines(), (std::vector<std::string>{"context 1 of device 0 handle 192",
                                               "stream 1/13 handle 80 priority 0"}));
}

TEST_F(ActivitySessionTest, UnifiedMemoryIsConfiguredOnceForEachDeviceWhenItsContextExists) {
  config_.unified_memory = true;
  ASSERT_TRUE(start());
  EXPECT_FALSE(cupti_.called("configure_unified_memory 0"));
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0xc0);
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0xc1);
  cupti_.device = 1;
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0xc2);
  finish();
  const auto times = [&](const std::string& call) {
    return std::count(cupti_.calls.begin(), cupti_.calls.end(), call);
  };
  EXPECT_EQ(times("configure_unified_memory 0"), 1);
  EXPECT_EQ(times("configure_unified_memory 1"), 1);
  EXPECT_EQ(times("enable 25"), 1);
}

// The runtime in the process has to know before it asks for managed memory.
TEST_F(ActivitySessionTest, ThatUnifiedMemoryIsRecordedIsSeenInTheRunDirectory) {
  config_.unified_memory = true;
  config_.run_directory = directory_ / "";
  const std::string sign = trace::unified_memory_sign(config_.run_directory, getpid());
  ASSERT_TRUE(start());
  EXPECT_FALSE(std::filesystem::exists(sign));
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0xc0);
  EXPECT_TRUE(std::filesystem::exists(sign));
  finish();
}

TEST_F(ActivitySessionTest, UnifiedMemoryThatIsRefusedCostsOnlyItself) {
  config_.unified_memory = true;
  config_.run_directory = directory_ / "";
  cupti_.answers["configure_unified_memory 0"] = CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES;
  ASSERT_TRUE(start());
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0xc0);
  EXPECT_FALSE(cupti_.called("enable 25"));
  EXPECT_FALSE(std::filesystem::exists(trace::unified_memory_sign(config_.run_directory, getpid())));
  finish();
  ASSERT_EQ(lines("loss um_event").size(), 1u);
  EXPECT_NE(lines("loss um_event")[0].find("CUDA_VISIBLE_DEVICES"), std::string::npos);
}

// HPCToolkit#195, #326: a forked child touches neither CUPTI nor the parent's file.
TEST_F(ActivitySessionTest, HpcToolkit195AForkedChildDoesNothing) {
  ASSERT_TRUE(start());
  const std::size_t calls = cupti_.calls.size();
  const pid_t child = fork();
  if (child == 0) {
    RecordBuilder buffer;
    buffer.add(kernel_activity("childs", 1, 2));
    const bool taken = cupti_.give(buffer);
    resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, 0xc0, 0x50);
    session_->finish();
    _exit(!taken && cupti_.calls.size() == calls ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  RecordBuilder buffer;
  buffer.add(kernel_activity("parents", 3, 4));
  ASSERT_TRUE(cupti_.give(buffer));
  finish();
  EXPECT_EQ(lines(), std::vector<std::string>{"kernel parents 3..4"});
}

// torch-xpu-ops#5287: a child that was forked while its parent flushed hung at its end, waiting for a flush
// and for threads that only its parent has.
TEST_F(ActivitySessionTest, TorchXpuOps5287AChildForkedWithinAFlushEndsAtOnce) {
  config_.flush_interval_ns = 1'000'000;
  cupti_.hold_flush(true);
  ASSERT_TRUE(start());
  while (cupti_.flushes_begun == 0) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // where it hangs, this ends it
    session_->finish();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  cupti_.hold_flush(false);
  finish();
  EXPECT_EQ(trace::SpoolReader(path_).status()->state, trace::SpoolState::kClosed);
}

/// Each call that can be refused, with each code that CUPTI has: the session always ends well.
class ActivitySessionRefusalTest : public ActivitySessionTest,
                                   public ::testing::WithParamInterface<const char*> {};

TEST_P(ActivitySessionRefusalTest, AnyCodeIsToldByNameAndTheJobGoesOn) {
  std::vector<int> codes = {CUPTI_ERROR_UNKNOWN};
  for (int code = 1; code <= CUPTI_ERROR_INVALID_CHIP_NAME; ++code) codes.push_back(code);
  for (const int code : codes) {
    FakeCupti cupti;
    cupti.answers[GetParam()] = static_cast<CUptiResult>(code);
    const std::string path = directory_ / ("s" + std::to_string(code));
    auto spool = trace::SpoolWriter::open(path, {.block_bytes = 8192, .block_count = 2});
    ActivitySession session(cupti, *spool, devices_, config_);
    session.start();
    RecordBuilder buffer;
    buffer.add(kernel_activity("k", 1, 2));
    if (session.active()) cupti.give(buffer);
    session.finish();
    EXPECT_EQ(spool_text(path, "kernel").size(), session.active() ? 1u : 0u) << code;
    const auto losses = spool_text(path, "loss");
    ASSERT_EQ(losses.size(), 1u) << code;
    EXPECT_NE(losses[0].find(std::string(cupti.result_name(static_cast<CUptiResult>(code))) + " (" +
                             std::to_string(code) + ")"),
              std::string::npos)
        << losses[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, ActivitySessionRefusalTest,
                         ::testing::Values("subscribe", "register_buffers", "set_system_thread_ids",
                                           "enable 8", "enable 9", "enable 37", "enable 10", "enable 1",
                                           "enable 22", "enable 2", "enable 38", "enable 12", "enable 17",
                                           "enable_callback 3/1", "enable_callback 3/3", "flush forced",
                                           "dropped_records"));

}  // namespace
}  // namespace tferry::collector
