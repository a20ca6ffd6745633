// Session in, recordings out.
#include "analyzer/session/read_recording.hpp"

#include "analyzer/session/id_index.hpp"
#include "trace/session_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tferry::analyzer {
namespace {

TEST(IdIndex, FindsDenseAndSparseIdsAndNoOthers) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<std::int64_t>& ids :
       {std::vector<std::int64_t>{7, 5, 6}, {kLeast, kMost, 0, 5}, {1, 1'000'000'000'000}, {}}) {
    IdIndex index;
    for (std::uint32_t i = 0; i < ids.size(); ++i) index.add(ids[i], i);
    index.build();
    for (std::uint32_t i = 0; i < ids.size(); ++i) EXPECT_EQ(index.find(ids[i]), i) << ids[i];
    for (const std::int64_t other : {std::int64_t{4}, std::int64_t{8}, kLeast + 1, kMost - 1})
      EXPECT_EQ(index.find(other), IdIndex::kNone) << other;
  }
}

class ReadRecordingTest : public ::testing::Test {
 protected:
  void kernel(std::optional<std::int64_t> operation, const char* name, std::int64_t call, std::int64_t start,
              std::int64_t end, std::optional<std::int64_t> device = 1) {
    trace::KernelRow row;
    row.process_id = 1;
    row.device_id = device;
    row.operation = operation;
    row.name_id = writer_.intern(name);
    if (operation) row.call_ns = call;
    row.start_ns = start;
    row.end_ns = end;
    row.owner = trace::StreamOwner::kProgram;
    writer_.insert(row);
  }
  void copy(std::int64_t operation, std::int64_t call, std::int64_t start, std::int64_t end,
            trace::StreamOwner owner = trace::StreamOwner::kProgram) {
    trace::MemcpyRow row;
    row.process_id = 1;
    row.device_id = 1;
    row.operation = operation;
    row.bytes = 100;
    row.kind = trace::CopyKind::kHostToDevice;
    row.call_ns = call;
    row.start_ns = start;
    row.end_ns = end;
    row.owner = owner;
    writer_.insert(row);
  }
  std::vector<SessionRecording> read() {
    writer_.publish();
    trace::Session session = trace::Session::open(directory_ / "a.tferry");
    return read_recordings(session);
  }
  /// "1 gemm 10 20-30" for operation 1, called at 10, on the GPU from 20 to 30.
  static std::vector<std::string> lines(const SessionRecording& read) {
    std::vector<std::string> text;
    for (const RecordedOperation& one : read.recording.operations)
      text.push_back(std::to_string(one.number) + " " + read.recording.names[one.name] + " " +
                     std::to_string(one.call_ns) + " " + std::to_string(one.start_ns.value_or(0)) + "-" +
                     std::to_string(one.end_ns.value_or(0)));
    return text;
  }

  trace::TestDirectory directory_;
  trace::SessionWriter writer_ = trace::SessionWriter::create(directory_ / "a.tferry");
};

using Lines = std::vector<std::string>;

// The first access is known, not all of them; what is reached by pointers is used there, and has to stay.
TEST_F(ReadRecordingTest, WhatPagesToldIsNoMoreThanTheFirstAccess) {
  for (std::int64_t id = 1; id <= 3; ++id) {
    trace::AllocationRow row{.id = id, .process_id = 1, .device_id = 1, .allocation = id, .bytes = 8 << 20};
    row.reserved_bytes = row.bytes;
    row.memory_kind = trace::MemoryKind::kDevice;
    row.alloc_ns = 1;
    row.movable = 1;
    writer_.insert(row);
  }
  kernel(1, "gemm", 10, 20, 30);
  const auto access = [&](std::int64_t allocation, trace::AccessKind kind,
                          std::optional<std::int64_t> argument) {
    writer_.insert(trace::AccessRow{.process_id = 1,
                                    .operation = 1,
                                    .allocation_id = allocation,
                                    .bytes = 8 << 20,
                                    .kind = kind,
                                    .known_by = trace::KnownBy::kPages,
                                    .argument_offset = argument});
  };
  access(1, trace::AccessKind::kRead, 0);
  access(2, trace::AccessKind::kWrite, 8);
  access(3, trace::AccessKind::kRead, {});
  const std::vector<SessionRecording> recordings = read();
  ASSERT_EQ(recordings.size(), 1u);
  const Recording& recording = recordings[0].recording;
  ASSERT_EQ(recording.accesses.size(), 3u);
  EXPECT_EQ(recording.accesses[0].kind, AccessKind::kMayTouch);
  EXPECT_EQ(recording.accesses[1].kind, AccessKind::kUpdate);
  EXPECT_EQ(recording.accesses[2].kind, AccessKind::kMayTouch);
  EXPECT_TRUE(recording.allocations[0].movable);
  EXPECT_FALSE(recording.allocations[2].movable);
  EXPECT_TRUE(recording.allocations[2].stays);
}

TEST_F(ReadRecordingTest, OperationsComeInTheOrderOfTheirCalls) {
  kernel(3, "late", 30, 31, 32);
  kernel(1, "gemm", 10, 40, 50);  // another stream: called first, run last
  kernel({}, "without a call", 0, 5, 6);
  copy(2, 20, 21, 22);
  copy(9, 25, 25, 26, trace::StreamOwner::kRuntime);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(lines(ranks[0]),
            (Lines{"1 gemm 10 40-50", "2 memcpy host_to_device 20 21-22", "3 late 30 31-32"}));
  EXPECT_TRUE(ranks[0].hooked);
  EXPECT_EQ(ranks[0].without_call, 1);
  EXPECT_EQ(ranks[0].sources[1].kind, SessionRecording::Kind::kMemcpy);
}

TEST_F(ReadRecordingTest, RowsOfOneOperationAreOneWhichItsGraphNames) {
  copy(1, 10, 20, 30);
  copy(1, 10, 30, 45);
  kernel(2, "node", 50, 60, 70);
  kernel(2, "other node", 50, 55, 65);
  trace::GraphLaunchRow graph;
  graph.process_id = 1;
  graph.operation = 2;
  graph.call_ns = 50;
  writer_.insert(graph);
  const auto ranks = read();
  EXPECT_EQ(lines(ranks.at(0)), (Lines{"1 memcpy host_to_device 10 20-45", "2 graph launch 50 55-70"}));
  EXPECT_EQ(ranks[0].sources[1].row_id, 0) << "a graph is no row of kernel";
}

TEST_F(ReadRecordingTest, WithoutCallsTheTimesOfTheGpuOrder) {
  kernel({}, "second", 0, 20, 30);
  kernel({}, "first", 0, 10, 15);
  const auto ranks = read();
  EXPECT_FALSE(ranks.at(0).hooked);
  EXPECT_EQ(lines(ranks[0]), (Lines{"0 first 10 10-15", "0 second 20 20-30"}));
}

TEST_F(ReadRecordingTest, WhatIsOnNoKnownGpuCountsForAllOfItsProcess) {
  kernel(1, "on 1", 10, 11, 12, 1);
  kernel(2, "on 2", 20, 21, 22, 2);
  kernel(3, "anywhere", 30, 31, 32, std::nullopt);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(lines(ranks[0]), (Lines{"1 on 1 10 11-12", "3 anywhere 30 31-32"}));
  EXPECT_EQ(lines(ranks[1]), (Lines{"2 on 2 20 21-22", "3 anywhere 30 31-32"}));
}

}  // namespace
}  // namespace tferry::analyzer
