// A session of two GPUs behind one switch in, tables `transfer` and `contention` out.
#include "analyzer/session/contention_analysis.hpp"

#include "analyzer/session/analysis.hpp"
#include "analyzer/session/store.hpp"
#include "analyzer/session/two_gpu_session.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

namespace tferry::analyzer {
namespace {

using testing_support::TwoGpuSession;

class ContentionAnalysisTest : public testing::Test {
 protected:
  ContentionAnalysis analyse(const SoloRates& assumed = {}) {
    std::vector<RankAnalysis> ranks;
    ContentionAnalysis contention;
    {
      trace::Session session = trace::Session::open(path_);
      ranks = analyze_session(session, {});
      contention = analyze_contention(session, assumed);
    }
    trace::SessionWriter writer = trace::SessionWriter::edit(path_);
    store_analysis(writer, ranks);
    store_contention(writer, contention);
    writer.publish();
    return contention;
  }
  double number(const std::string& sql) {
    trace::Session session = trace::Session::open(path_);
    trace::Statement row(session.database(), sql);
    return row.step() ? row.real(0) : -1;
  }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "two.tferry";
};

// A GPU on node 0, and two pinned buffers, the second one on node 1.
TEST_F(ContentionAnalysisTest, CopiesFromAnotherNodeAreKnownByTheirAddresses) {
  {
    trace::SessionWriter writer = trace::SessionWriter::create(path_);
    writer.insert(trace::ProcessRow{.id = 1});
    trace::DeviceRow device;
    device.id = 1;
    device.numa_node = 0;
    writer.insert(device);
    for (const std::int64_t node : {0, 1}) {
      trace::AllocationRow memory;
      memory.id = memory.allocation = node + 1;
      memory.process_id = 1;
      memory.address = 0x10000 * (node + 1);
      memory.bytes = 0x8000;
      memory.memory_kind = trace::MemoryKind::kPinned;
      memory.alloc_ns = 5;
      memory.numa_node = node;
      writer.insert(memory);
    }
    std::int64_t at = 1'000'000;
    for (int i = 0; i < 8; ++i) {
      const bool far = i % 2 == 1;
      trace::MemcpyRow copy;
      copy.id = i + 1;
      copy.process_id = copy.device_id.emplace(1);
      copy.stream_id = 1;
      copy.kind = trace::CopyKind::kHostToDevice;
      copy.source_kind = trace::MemoryKind::kPinned;
      copy.bytes = 0x1000;
      copy.source_address = (far ? 0x20000 : 0x10000) + 0x1000 * i / 2;
      copy.call_ns = at - 10;
      copy.start_ns = at;
      copy.end_ns = at + (far ? 3000 : 2000);
      at += 10'000;
      writer.insert(copy);
    }
    writer.publish();
  }
  analyse();
  EXPECT_EQ(number("SELECT sum(lost_ns) FROM contention WHERE resource = 'numa'"), 4 * 1000);
  EXPECT_EQ(number("SELECT count(*) FROM contention WHERE resource NOT IN ('numa', 'copy_engine_queue')"), 0);
}

// As with NCCL_P2P_DISABLE=1: the counters see what NCCL's kernels read from host memory, and no copy has it.
TEST_F(ContentionAnalysisTest, ACollectiveThroughHostMemoryIsTheCauseThatIsNamed) {
  constexpr std::int64_t kMs = 1'000'000;
  {
    trace::SessionWriter writer = trace::SessionWriter::create(path_);
    writer.insert(trace::ProcessRow{.id = 1});
    trace::DeviceRow device;
    device.id = 1;
    writer.insert(device);
    trace::LinkRow link{.id = 1, .kind = "pcie", .upstream = "host", .device_id = 1};
    link.h2d_bytes_per_second = link.d2h_bytes_per_second = 50e9;
    link.known_by = "measured";
    writer.insert(link);
    for (int i = 0; i < 4; ++i) {
      const std::int64_t at = 10 * kMs * (i + 1);
      const bool beside = i % 2 == 0;
      trace::MemcpyRow copy;
      copy.process_id = copy.device_id.emplace(1);
      copy.stream_id = 1;
      copy.kind = trace::CopyKind::kHostToDevice;
      copy.source_kind = trace::MemoryKind::kPinned;
      copy.bytes = 100'000'000;
      copy.start_ns = copy.call_ns.emplace(at);
      copy.end_ns = at + (beside ? 4 : 2) * kMs;
      writer.insert(copy);
      trace::CounterRow counter;
      counter.name_id = writer.intern("pcie__read_bytes.sum");
      counter.device_id = 1;
      counter.start_ns = at;
      counter.end_ns = *copy.end_ns;
      counter.value = beside ? 200e6 : 105e6;
      writer.insert(counter);
      if (!beside) continue;
      trace::KernelRow kernel;
      kernel.process_id = kernel.device_id.emplace(1);
      kernel.stream_id = 2;
      kernel.name_id = writer.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
      kernel.grid_x = kernel.grid_y = kernel.grid_z = kernel.block_x = kernel.block_y = kernel.block_z = 1;
      kernel.start_ns = at - kMs;
      kernel.end_ns = at + 5 * kMs;
      writer.insert(kernel);
    }
    writer.publish();
  }
  analyse();
  EXPECT_EQ(number("SELECT sum(lost_ns) FROM contention WHERE resource = 'collective' AND culprit = 'a "
                   "collective through host memory'"),
            2.0 * 2 * kMs);
  EXPECT_EQ(number("SELECT count(*) FROM contention"), 2);
}

TEST_F(ContentionAnalysisTest, WhatIsStoredAddsUp) {
  TwoGpuSession{}.write(path_);
  EXPECT_EQ(analyse().transfers.size(), 12u);
  const double lost = number("SELECT sum(lost_ns) FROM transfer");
  EXPECT_EQ(lost, 2.0 * 12 * 1e6);
  EXPECT_EQ(number("SELECT sum(lost_ns) FROM contention WHERE resource <> 'copy_engine_queue'"), lost);
  EXPECT_EQ(
      number("SELECT sum(lost_ns) FROM contention WHERE victim_device_id = 1 AND culprit_device_id = 2"),
      lost / 2);
  EXPECT_EQ(number("SELECT sum(exposed_ns) FROM transfer WHERE device_id = 1"), 6 * 2e6);
  EXPECT_EQ(number("SELECT count(*) FROM transfer WHERE iteration_id IS NULL"), 0);
  EXPECT_EQ(number("SELECT count(DISTINCT start_ns) FROM contention"), 6) << "a window an iteration";
  EXPECT_EQ(number("SELECT count(*) FROM contention WHERE resource <> 'link' OR link_id <> 1"), 0)
      << "the edge above the switch";
}

TEST_F(ContentionAnalysisTest, AnalysedAgainItIsTheSame) {
  TwoGpuSession{}.write(path_);
  analyse();
  const double rows = number("SELECT count(*) FROM transfer");
  analyse();
  EXPECT_EQ(number("SELECT count(*) FROM transfer"), rows);
}

TEST_F(ContentionAnalysisTest, WithoutABaselineNothingIsKnownAndItSaysWhatSettlesIt) {
  TwoGpuSession{.calibrated = false}.write(path_);
  const ContentionAnalysis contention = analyse();
  EXPECT_EQ(number("SELECT count(*) FROM transfer WHERE solo_ns IS NULL AND lost_ns IS NULL AND "
                   "solo_known_by = 'unknown'"),
            12);
  EXPECT_EQ(number("SELECT count(*) FROM contention"), 0);
  ASSERT_FALSE(contention.unknown.empty());
  EXPECT_NE(contention.unknown[0].find("tferry analyze --assume-solo"), std::string::npos)
      << contention.unknown[0];
  analyse({50.0, {}, SoloSource::kAssumed});
  EXPECT_EQ(number("SELECT count(*) FROM contention WHERE known_by = 'assumed'"), 12);
}

TEST_F(ContentionAnalysisTest, WithoutTheTreeALinkIsNotToldFromHostMemory) {
  TwoGpuSession{.tree = false}.write(path_);
  analyse({50.0, {}, SoloSource::kAssumed});
  EXPECT_EQ(number("SELECT count(*) FROM contention WHERE resource = 'link_or_host_memory'"), 12);
}

}  // namespace
}  // namespace tferry::analyzer
