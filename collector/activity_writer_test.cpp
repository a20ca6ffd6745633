#include "collector/activity_writer.hpp"

#include "collector/testing/fake_cupti.hpp"
#include "collector/testing/spool_text.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

namespace tferry::collector {
namespace {

class ActivityWriterTest : public ::testing::Test {
 protected:
  ActivityWriterTest()
      : spool_(trace::SpoolWriter::open(path_, {.block_count = 2})), writer_(*spool_, devices_) {}

  template <typename Activity>
  void write(const Activity& activity) {
    writer_.write(*static_cast<const CUpti_Activity*>(static_cast<const void*>(&activity)));
  }
  /// Every record of the buffer, found as CUPTI itself finds them.
  void write_all(RecordBuilder& buffer) {
    CuptiLibrary cupti;
    CUpti_Activity* activity = nullptr;
    while (cupti.next_record(buffer.data(), buffer.size(), &activity) == CUPTI_SUCCESS) {
      writer_.write(*activity);
      ++seen_;
    }
    EXPECT_EQ(seen_, buffer.records());
  }
  std::vector<std::string> lines() {
    writer_.finish();
    spool_->close();
    return spool_text(path_);
  }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "s";
  std::unique_ptr<trace::SpoolWriter> spool_;
  NoDevices devices_;
  ActivityWriter writer_;
  std::size_t seen_ = 0;
};

TEST_F(ActivityWriterTest, ABufferOfEveryKindIsReadToItsEnd) {
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.bytes = 64;
  peer.start = 30;
  peer.end = 40;
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 16;
  set.start = 50;
  set.end = 60;
  CUpti_ActivitySynchronization2 sync{};
  sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  sync.start = 70;
  sync.end = 80;
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
  overhead.start = 90;
  overhead.end = 95;
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.isCudaVisible = 1;
  device.name = "NVIDIA H200";
  CUpti_ActivityContext3 context{};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 1;
  context.nullStreamId = 7;
  CUpti_ActivityUnifiedMemoryCounter3 counter{};
  counter.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  counter.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
  counter.start = 96;
  counter.end = 99;
  RecordBuilder buffer;
  buffer.add(device).add(context).add(kernel_activity("gemm", 1, 10)).add(memcpy_activity(4096, 20, 25));
  buffer.add(peer).add(set).add(sync).add(overhead).add(counter);
  buffer.add(marker_activity(1, 5, CUPTI_ACTIVITY_FLAG_MARKER_START, "step"));
  buffer.add(marker_activity(1, 97, CUPTI_ACTIVITY_FLAG_MARKER_END));
  write_all(buffer);
  EXPECT_EQ(lines(), (std::vector<std::string>{"device 0 NVIDIA H200", "context 1 of device 0 handle 0",
                                               "stream 1/7 handle 0 priority 0", "kernel gemm 1..10",
                                               "memcpy 4096 20..25", "memcpy 64 30..40", "memset 16 50..60",
                                               "sync 70..80", "overhead lazy function loading 90..95",
                                               "um 96..99", "marker range step 5..97"}));
}

TEST_F(ActivityWriterTest, KindsThatItDoesNotKnowAreCounted) {
  CUpti_ActivityJit2 jit{};
  jit.kind = CUPTI_ACTIVITY_KIND_JIT;
  write(jit);
  write(jit);
  EXPECT_EQ(lines(), (std::vector<std::string>{
                         "loss none 2 CUPTI activity records of kind 52, which this version cannot record"}));
}

TEST_F(ActivityWriterTest, StreamsAreTiedToTheirHandles) {
  writer_.note_context(0xc0, 1, 0);
  writer_.note_stream(0x5a0, 1, 13, 0);
  CUpti_ActivityStream stream{};
  stream.kind = CUPTI_ACTIVITY_KIND_STREAM;
  stream.contextId = 1;
  stream.streamId = 13;
  stream.priority = static_cast<std::uint32_t>(-5);
  write(stream);
  EXPECT_EQ(lines(), (std::vector<std::string>{"context 1 of device 0 handle 192",
                                               "stream 1/13 handle 1440 priority 0",
                                               "stream 1/13 handle 1440 priority -5"}));
}

TEST_F(ActivityWriterTest, AStreamOfUnknownHandleDoesNotPassForTheDefaultStream) {
  CUpti_ActivityStream stream{};
  stream.kind = CUPTI_ACTIVITY_KIND_STREAM;
  stream.contextId = 1;
  stream.streamId = 20;
  write(stream);
  EXPECT_TRUE(lines().empty());
}

TEST_F(ActivityWriterTest, CardsThatTheJobCannotSeeAreLeftOut) {
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.isCudaVisible = 0;
  write(device);
  EXPECT_TRUE(lines().empty());
}

TEST_F(ActivityWriterTest, RangesStillOpenAtTheEndAreWrittenAsOpen) {
  write(marker_activity(1, 5, CUPTI_ACTIVITY_FLAG_MARKER_START, "epoch"));
  write(marker_activity(2, 6, CUPTI_ACTIVITY_FLAG_MARKER_END));
  EXPECT_EQ(lines(), (std::vector<std::string>{
                         "marker open epoch 5..0",
                         "loss marker 1 NVTX ranges of which CUPTI told only the start or only the end"}));
}

TEST_F(ActivityWriterTest, TwoKernelsOfOneCorrelationIdAreTwoRecords) {
  RecordBuilder buffer;
  CUpti_ActivityKernel10 first = kernel_activity("first", 1, 2), second = kernel_activity("second", 3, 4);
  first.correlationId = second.correlationId = 7;  // and no graph launched them
  buffer.add(second).add(first);
  write_all(buffer);
  EXPECT_EQ(lines(), (std::vector<std::string>{"kernel second 3..4", "kernel first 1..2"}));
}

TEST_F(ActivityWriterTest, AKernelWithoutNameHasNone) {
  write(kernel_activity(nullptr, 1, 2));
  EXPECT_EQ(lines(), std::vector<std::string>{"kernel - 1..2"});
}

// pytorch#112507: kernels of a replayed graph appear, with the correlation id of its launch.
TEST_F(ActivityWriterTest, Pytorch112507KernelsOfAGraphAreTiedToTheirLaunch) {
  for (std::uint64_t node = 1; node <= 3; ++node) {
    CUpti_ActivityKernel10 kernel = kernel_activity("node", node * 10, node * 10 + 5);
    kernel.graphId = 4;
    kernel.graphNodeId = node;
    kernel.correlationId = 1234;
    write(kernel);
  }
  spool_->close();
  trace::SpoolReader reader(path_);
  std::vector<std::uint64_t> nodes;
  while (const auto record = reader.next()) {
    const auto kernel = record->as<trace::KernelActivityRecord>();
    if (!kernel) continue;
    EXPECT_EQ(kernel->graph_id, 4u);
    EXPECT_EQ(kernel->correlation_id, 1234u);
    nodes.push_back(kernel->graph_node_id);
  }
  EXPECT_EQ(nodes, (std::vector<std::uint64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace tferry::collector
