#include "trace/ingest.hpp"

#include "trace/session.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <span>

namespace tferry::trace {
namespace {

/// Writes spools as a job does and gives back the session that they make.
class IngestTest : public ::testing::Test {
 protected:
  void runtime(const std::function<void(SpoolWriter&)>& write) { spool(SpoolSource::kRuntime, write); }
  void collector(const std::function<void(SpoolWriter&)>& write) { spool(SpoolSource::kCollector, write); }

  Session ingest() {
    SessionWriter writer =
        SessionWriter::create(directory_ / "a.tferry", {.force = true, .build_directory = {}});
    report_ = trace::ingest(Recording::read(paths_), writer);
    writer.publish();
    return Session::open(directory_ / "a.tferry");
  }

  /// Rows as text, columns separated by '|'.
  static std::string query(Session& session, const std::string& sql) {
    Statement statement(session.database(), sql);
    std::string text;
    while (statement.step()) {
      if (!text.empty()) text += "\n";
      for (int column = 0; column < statement.column_count(); ++column) {
        if (column > 0) text += "|";
        text += statement.is_null(column) ? "NULL" : statement.shown(column);
      }
    }
    return text;
  }

  void spool(SpoolSource source, const std::function<void(SpoolWriter&)>& write) {
    std::string error;
    auto writer = SpoolWriter::open_in(directory_.path(), {.source = source}, &error);
    ASSERT_TRUE(writer) << error;
    write(*writer);
    paths_.push_back(writer->path());
    writer->close();
  }

  TestDirectory directory_;
  std::vector<std::string> paths_;
  IngestReport report_;
};

constexpr std::uint64_t kHandle = 0x5000;

DeviceRecord card(std::int32_t ordinal, std::uint8_t uuid) {
  DeviceRecord record{.time_ns = 1, .device = ordinal, .pci_bus = 0x19};
  record.uuid[0] = uuid;
  return record;
}

void describe(SpoolWriter& spool) {
  spool.append(card(0, 0xaa));
  spool.append(StreamRecord{.time_ns = 1, .handle = kHandle, .context_id = 1, .stream_id = 13, .device = 0});
}

KernelLaunchRecord launch(SpoolWriter& spool, std::uint64_t number, const char* name) {
  const auto time = static_cast<std::int64_t>(1'000'000 * (number + 1));
  return {.time_ns = time,
          .return_ns = time + 3000,
          .operation = number,
          .stream = kHandle,
          .sequence = number,
          .name = spool.intern(name),
          .grid = {4, 1, 1},
          .block = {128, 1, 1},
          .device = 0};
}

KernelActivityRecord ran(SpoolWriter& spool, std::uint32_t number, const char* name) {
  const std::int64_t time = 1'000'000 * (number + 1) + 8000;
  return {.time_ns = time,
          .end_ns = time + 50'000,
          .name = spool.intern(name),
          .correlation_id = number + 100,
          .context_id = 1,
          .stream_id = 13,
          .device = 0,
          .grid = {4, 1, 1},
          .block = {128, 1, 1}};
}

TEST_F(IngestTest, JoinsLaunchesWithKernels) {
  runtime([](SpoolWriter& spool) {
    for (const std::uint64_t i : {0, 1, 2}) spool.append(launch(spool, i, i == 1 ? "softmax" : "gemm"));
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    for (const std::uint32_t i : {0u, 1u, 2u}) spool.append(ran(spool, i, i == 1 ? "softmax" : "gemm"));
  });
  Session session = ingest();
  EXPECT_EQ(query(session,
                  "SELECT operation, value, start_ns - call_ns, end_ns - start_ns FROM kernel "
                  "JOIN string ON string.id = name_id ORDER BY start_ns"),
            "0|gemm|8000|50000\n1|softmax|8000|50000\n2|gemm|8000|50000");
  EXPECT_EQ(query(session, "SELECT uuid, pci_address FROM device"),
            "GPU-aa000000-0000-0000-0000-000000000000|0000:19:00.0");
  EXPECT_EQ(session.count<LossRow>(), 0);
  EXPECT_EQ(session.meta("join.matched_calls"), "3");
  EXPECT_EQ(report_.join.matched_records, 3);
}

TEST_F(IngestTest, AnOperationWaitsForMemoryWhenTheGpuHasNothingElseLeft) {
  const auto gate = [](SpoolWriter& spool, std::uint64_t operation) {
    const std::int64_t called = launch(spool, operation, "gemm").time_ns;
    spool.append(GateRecord{.time_ns = called,
                            .end_ns = called + 2000,
                            .operation = operation,
                            .fetch_bytes = 4096,
                            .device = 0,
                            .on_gpu = 1});
  };
  runtime([&](SpoolWriter& spool) {
    for (const std::uint64_t i : {0, 1, 2, 3}) spool.append(launch(spool, i, "gemm"));
    for (const std::uint64_t i : {1, 2, 3}) gate(spool, i);
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    KernelActivityRecord first = ran(spool, 0, "gemm"), second = ran(spool, 1, "gemm");
    first.end_ns = 2'500'000;  // the second was called long before
    second.time_ns = 2'900'000;
    second.end_ns = 2'950'000;
    spool.append(first);
    spool.append(second);
    spool.append(ran(spool, 2, "gemm"));  // called when the GPU had nothing to do
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT operation, start_ns, end_ns FROM gate ORDER BY operation"),
            "1|2500000|2900000\n2|3000000|3008000\n3|4000000|4002000")
      << "of the last one nobody knows when it ran";
}

TEST_F(IngestTest, KeepsLaunchesThatNoRecordTellsOfWithoutTimes) {
  runtime([](SpoolWriter& spool) {
    for (const std::uint64_t i : {0, 1, 2}) spool.append(launch(spool, i, i == 1 ? "softmax" : "gemm"));
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    spool.append(ran(spool, 0, "gemm"));
    spool.append(ran(spool, 2, "gemm"));
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT operation, start_ns IS NULL FROM kernel ORDER BY operation"),
            "0|0\n1|1\n2|0");
  EXPECT_EQ(query(session, "SELECT what, reason, count FROM loss"), "call|no_partner|1");
}

TEST_F(IngestTest, TakesHooksAloneAsTheyAre) {
  runtime([](SpoolWriter& spool) {
    spool.append(card(0, 0xaa));
    spool.append(launch(spool, 0, "gemm"));
  });
  Session session = ingest();
  EXPECT_EQ(session.count<KernelRow>("start_ns IS NULL AND call_ns = 1000000"), 1);
  EXPECT_EQ(session.count<LossRow>(), 0);
}

TEST_F(IngestTest, FindsTheStreamThatNobodyNamed) {
  runtime([](SpoolWriter& spool) {
    for (const std::uint64_t i : {0, 1, 2}) {
      KernelLaunchRecord record = launch(spool, i, i == 1 ? "softmax" : "gemm");
      record.stream = 0;
      spool.append(record);
    }
  });
  collector([](SpoolWriter& spool) {
    for (const std::uint32_t i : {0u, 1u, 2u}) spool.append(ran(spool, i, i == 1 ? "softmax" : "gemm"));
  });
  ingest();
  EXPECT_EQ(report_.join.matched_calls, 3);
}

// Iterations look alike, so that by their order and shape the records of the fourth would fit the calls of
// the first.
TEST_F(IngestTest, RecordsOfARangeBelongToCallsWithinIt) {
  runtime([](SpoolWriter& spool) {
    for (std::uint64_t i = 0; i < 60; ++i) spool.append(launch(spool, i, i % 10 == 0 ? "softmax" : "gemm"));
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    for (std::uint32_t i = 30; i < 40; ++i) spool.append(ran(spool, i, i % 10 == 0 ? "softmax" : "gemm"));
    spool.append(RangeRecord{.time_ns = 30'900'000, .end_ns = 40'500'000});
  });
  Session session = ingest();
  EXPECT_EQ(query(session,
                  "SELECT min(operation), max(operation), count(*) FROM kernel WHERE start_ns IS NOT NULL"),
            "30|39|10");
  EXPECT_EQ(query(session, "SELECT count(*) FROM kernel WHERE start_ns IS NULL AND call_ns IS NOT NULL"),
            "50");
  EXPECT_EQ(query(session, "SELECT count(*) FROM loss"), "0");
  EXPECT_EQ(report_.join.calls, 10);
}

TEST_F(IngestTest, AStreamHasThePriorityThatItsRecordTells) {
  collector([](SpoolWriter& spool) {
    describe(spool);
    spool.append(StreamRecord{
        .time_ns = 5, .handle = kHandle, .context_id = 1, .stream_id = 13, .device = 0, .priority = -5});
    spool.append(ran(spool, 0, "gemm"));
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT cupti_stream_id, priority FROM stream"), "13|-5");
}

// parcagpu#23, nvidia-resiliency-ext#115: zero and reversed timestamps after millions of records.
TEST_F(IngestTest, CountsTimesThatCannotBeAndLeavesThemOut) {
  collector([](SpoolWriter& spool) {
    describe(spool);
    KernelActivityRecord reversed = ran(spool, 0, "gemm");
    reversed.end_ns = reversed.time_ns - 1;
    KernelActivityRecord zero = ran(spool, 1, "gemm");
    zero.time_ns = zero.end_ns = 0;
    KernelActivityRecord running = ran(spool, 2, "gemm");
    running.end_ns = 0;
    spool.append(reversed);
    spool.append(zero);
    spool.append(running);
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT start_ns, end_ns FROM kernel ORDER BY correlation_id"),
            "NULL|NULL\nNULL|NULL\n3008000|NULL");
  EXPECT_EQ(query(session, "SELECT what, reason, count FROM loss"), "kernel|bad_time|2");
}

TEST_F(IngestTest, TiesAllocationsFreesAndAccesses) {
  runtime([](SpoolWriter& spool) {
    spool.append(card(0, 0xaa));
    spool.append(AllocationRecord{.time_ns = 10,
                                  .allocation = 1,
                                  .address = 0x7000,
                                  .bytes = 100,
                                  .reserved_bytes = 512,
                                  .device = 0,
                                  .kind = MemoryKind::kDevice,
                                  .api = AllocationApi::kAlloc,
                                  .movable = 1});
    spool.append(
        AllocationRecord{.time_ns = 11, .allocation = 2, .address = 0x8000, .bytes = 50, .device = 0});
    const AccessEntry entries[] = {
        {.allocation = 1,
         .offset = 16,
         .kind = AccessKind::kMayTouch,
         .known_by = KnownBy::kArgument,
         .argument_offset = 8},
        {.allocation = 77, .kind = AccessKind::kWrite, .known_by = KnownBy::kCall}};
    spool.append_accesses(12, 5, entries);
    spool.append(FreeRecord{.time_ns = 20, .allocation = 1});
    spool.append(FreeRecord{.time_ns = 21, .allocation = 99});
  });
  Session session = ingest();
  EXPECT_EQ(
      query(session, "SELECT allocation, bytes, reserved_bytes, alloc_ns, free_ns, movable FROM allocation"),
      "1|100|512|10|20|1\n2|50|0|11|NULL|0");
  EXPECT_EQ(
      query(session,
            "SELECT operation, allocation_id, offset, bytes, kind, known_by, argument_offset FROM access"),
      "5|1|16|NULL|1|1|8\n5|NULL|0|NULL|3|2|NULL");
  EXPECT_EQ(query(session, "SELECT what, reason, count FROM loss"), "free|no_partner|1");
}

TEST_F(IngestTest, LabelsTheRuntimesOwnCopies) {
  constexpr std::uint64_t kOwnHandle = 0x6000;
  runtime([](SpoolWriter& spool) {
    spool.append(AllocationRecord{.time_ns = 10, .allocation = 1, .bytes = 4096, .device = 0});
    spool.append(TransferRecord{.time_ns = 1'000'000,
                                .wait_ns = 70,
                                .allocation = 1,
                                .operation = 3,
                                .bytes = 4096,
                                .stream = kOwnHandle,
                                .sequence = 0,
                                .device = 0,
                                .kind = TransferKind::kPark});
    spool.append(TransferRecord{
        .time_ns = 2'000'000, .allocation = 1, .bytes = 4096, .device = 0, .kind = TransferKind::kDiscard});
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    spool.append(
        StreamRecord{.time_ns = 1, .handle = kOwnHandle, .context_id = 1, .stream_id = 20, .device = 0});
    spool.append(MemcpyActivityRecord{.time_ns = 1'010'000,
                                      .end_ns = 1'020'000,
                                      .bytes = 4096,
                                      .correlation_id = 5,
                                      .context_id = 1,
                                      .stream_id = 20,
                                      .device = 0,
                                      .kind = CopyKind::kDeviceToHost});
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT owner, operation, wait_ns FROM memcpy"), "2|3|70");
  EXPECT_EQ(query(session,
                  "SELECT label, memcpy_id, swap.bytes FROM swap JOIN enumeration "
                  "ON enumeration.name = 'transfer_kind' AND value = kind ORDER BY submit_ns"),
            "park|1|4096\ndiscard|NULL|4096");
  EXPECT_EQ(query(session, "SELECT owner FROM stream WHERE cupti_stream_id = 20"), "2");
}

TEST_F(IngestTest, TellsTheRuntimesCopiesOfOneLaunchApart) {
  constexpr std::uint64_t kOwnHandle = 0x6000;
  runtime([](SpoolWriter& spool) {
    spool.append(AllocationRecord{.time_ns = 10, .allocation = 1, .bytes = 3 * 4096, .device = 0});
    for (int i = 0; i < 3; ++i) {
      spool.append(TransferRecord{.time_ns = 1'000'000 + i,
                                  .allocation = 1,
                                  .operation = 3,
                                  .offset = 4096 * i,
                                  .bytes = 4096,
                                  .stream = kOwnHandle,
                                  .sequence = static_cast<std::uint64_t>(i),
                                  .device = 0,
                                  .kind = TransferKind::kFetch});
    }
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    spool.append(
        StreamRecord{.time_ns = 1, .handle = kOwnHandle, .context_id = 1, .stream_id = 20, .device = 0});
    for (int i = 0; i < 3; ++i) {
      spool.append(MemcpyActivityRecord{.time_ns = 1'010'000 + 10'000 * i,
                                        .end_ns = 1'019'000 + 10'000 * i,
                                        .bytes = 4096,
                                        .correlation_id = 5,  // of the launch that needed them
                                        .context_id = 1,
                                        .stream_id = 20,
                                        .device = 0,
                                        .kind = CopyKind::kHostToDevice});
    }
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT count(memcpy_id), count(DISTINCT memcpy_id) FROM swap"), "3|3");
  EXPECT_EQ(query(session, "SELECT count(*) FROM loss"), "0");
}

// pytorch#112507: CUDA graphs crashed profilers.
TEST_F(IngestTest, Pytorch112507TiesKernelsOfAGraphToItsLaunch) {
  runtime([](SpoolWriter& spool) {
    spool.append(GraphLaunchRecord{
        .time_ns = 1'000'000, .operation = 9, .stream = kHandle, .graph = 0x77, .device = 0});
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    for (const std::uint32_t node : {1u, 2u}) {
      KernelActivityRecord kernel = ran(spool, 0, "gemm");
      kernel.time_ns += node;
      kernel.graph_id = 4;
      kernel.graph_node_id = node;
      spool.append(kernel);
    }
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT operation, graph_node_id FROM kernel ORDER BY start_ns"), "9|1\n9|2");
  EXPECT_EQ(query(session, "SELECT operation, correlation_id FROM graph_launch"), "9|100");
}

// kineto#1165: kernels of a replayed graph had the correlation of something else. Each replay's are tied to
// its own launch, between launches that are none and in whatever order CUPTI gives its records.
TEST_F(IngestTest, Kineto1165KernelsOfEachReplayAreTiedToTheirOwnLaunch) {
  runtime([](SpoolWriter& spool) {
    for (const std::uint64_t number : {1u, 3u}) {
      GraphLaunchRecord replay{.operation = number, .stream = kHandle, .sequence = number, .device = 0};
      replay.time_ns = static_cast<std::int64_t>(1'000'000 * (number + 1));
      replay.graph = 0x77;
      spool.append(replay);
    }
    for (const std::uint64_t number : {0u, 2u}) spool.append(launch(spool, number, "gemm"));
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    for (const std::uint32_t number : {3u, 0u, 2u, 1u}) {
      KernelActivityRecord kernel = ran(spool, number, "gemm");  // as the launches' own kernels look
      if (number % 2 == 0) {
        spool.append(kernel);
        continue;
      }
      kernel.graph_id = 4;
      for (const std::uint32_t node : {2u, 1u}) {
        kernel.graph_node_id = node;
        spool.append(kernel);
      }
    }
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT correlation_id, operation, graph_node_id FROM kernel ORDER BY 1, 3"),
            "100|0|NULL\n101|1|1\n101|1|2\n102|2|NULL\n103|3|1\n103|3|2");
  EXPECT_EQ(query(session, "SELECT operation, correlation_id FROM graph_launch ORDER BY 1"), "1|101\n3|103");
}

TEST_F(IngestTest, TwoKernelsOfOneCorrelationIdAreBothThereAndNoneIsAnothersCall) {
  runtime([](SpoolWriter& spool) {
    for (const std::uint64_t number : {0u, 1u, 2u})
      spool.append(launch(spool, number, number == 1 ? "add" : "gemm"));
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    for (const std::uint32_t number : {0u, 1u, 2u}) {
      KernelActivityRecord kernel = ran(spool, number, number == 1 ? "add" : "gemm");
      if (number == 1) kernel.correlation_id = 100;  // that of the one before, which no graph launched
      spool.append(kernel);
    }
  });
  Session session = ingest();
  EXPECT_EQ(query(session,
                  "SELECT count(*), count(start_ns), sum(end_ns - start_ns) FROM kernel WHERE start_ns "
                  "IS NOT NULL"),
            "3|3|150000");
  // Whoever has a call has one of its own name that came before it.
  EXPECT_EQ(
      query(session,
            "SELECT count(*) FROM kernel JOIN string ON string.id = name_id WHERE operation IS NOT NULL "
            "AND start_ns IS NOT NULL AND (value <> CASE operation WHEN 1 THEN 'add' ELSE 'gemm' END OR "
            "call_ns > start_ns)"),
      "0");
  EXPECT_EQ(
      query(session,
            "SELECT count(DISTINCT operation), count(operation) FROM kernel WHERE start_ns IS NOT NULL"),
      "3|3");
}

TEST_F(IngestTest, MemoryThatTakesAnothersAddressIsAnotherAllocation) {
  runtime([](SpoolWriter& spool) {
    spool.append(card(0, 0xaa));
    const auto made = [&](std::int64_t time, std::uint64_t number, std::int64_t bytes) {
      spool.append(AllocationRecord{
          .time_ns = time, .allocation = number, .address = 0x7000, .bytes = bytes, .device = 0});
    };
    const auto named = [&](std::int64_t time, std::uint64_t operation, std::uint64_t allocation) {
      const AccessEntry entry{
          .allocation = allocation, .kind = AccessKind::kMayTouch, .known_by = KnownBy::kCall};
      spool.append_accesses(time, operation, {&entry, 1});
    };
    made(10, 1, 100);
    named(12, 1, 1);
    spool.append(FreeRecord{.time_ns = 20, .allocation = 1});
    made(21, 2, 50);
    named(22, 2, 2);
    made(30, 3, 25);  // the second one's free was lost
    named(31, 3, 3);
    spool.append(FreeRecord{.time_ns = 40, .allocation = 3});
  });
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT address, bytes, alloc_ns, free_ns FROM allocation ORDER BY alloc_ns"),
            "28672|100|10|20\n28672|50|21|NULL\n28672|25|30|40");
  EXPECT_EQ(query(session,
                  "SELECT operation, bytes FROM (SELECT access.operation, allocation.bytes FROM access JOIN "
                  "allocation ON allocation.id = allocation_id) ORDER BY 1"),
            "1|100\n2|50\n3|25");
}

TEST_F(IngestTest, KeepsWhatWasDoneToPools) {
  runtime([](SpoolWriter& spool) {
    spool.append(card(0, 0xaa));
    using Kind = PoolOperationKind;
    const auto call = [&](std::int64_t time, Kind kind, std::int64_t value, std::uint32_t attribute,
                          int device) {
      spool.append(PoolOperationRecord{.time_ns = time,
                                       .end_ns = time + 5,
                                       .pool = 0x77,
                                       .value = value,
                                       .attribute = attribute,
                                       .thread = 9,
                                       .device = device,
                                       .kind = kind});
    };
    call(10, Kind::kCreate, 0, 0, 0);
    call(20, Kind::kSetAttribute, 0, 2, -1);
    call(30, Kind::kTrim, 4096, 0, -1);
    call(40, Kind::kDestroy, 0, 0, -1);
  });
  Session session = ingest();
  EXPECT_EQ(
      query(session,
            "SELECT label, device_id, pool, attribute, pool_operation.value, thread, start_ns, end_ns FROM "
            "pool_operation JOIN enumeration AS e ON e.name = 'pool_operation_kind' AND e.value = kind "
            "ORDER BY start_ns"),
      "create|1|119|NULL|NULL|9|10|15\nset_attribute|NULL|119|2|0|9|20|25\n"
      "trim|NULL|119|NULL|4096|9|30|35\ndestroy|NULL|119|NULL|NULL|9|40|45");
}

TEST_F(IngestTest, WhatTheRuntimeDoesOnItsOwnStreamsIsNoLoss) {
  runtime([](SpoolWriter& spool) {
    spool.append(launch(spool, 0, "gemm"));
    spool.append(StreamRecord{.time_ns = 1, .handle = 0x6000, .device = 0, .owner = StreamOwner::kRuntime});
  });
  collector([](SpoolWriter& spool) {
    describe(spool);
    spool.append(StreamRecord{.time_ns = 1, .handle = 0x6000, .context_id = 1, .stream_id = 20, .device = 0});
    spool.append(ran(spool, 0, "gemm"));
    KernelActivityRecord scan = ran(spool, 1, "pointer_scan");
    scan.stream_id = 20;
    spool.append(scan);
  });
  Session session = ingest();
  EXPECT_EQ(
      query(session, "SELECT value, owner FROM kernel JOIN string ON string.id = name_id ORDER BY start_ns"),
      "gemm|1\npointer_scan|2");
  EXPECT_EQ(session.count<LossRow>(), 0);
}

TEST_F(IngestTest, NothingInARecordCanBreakIt) {
  std::mt19937_64 random(5);
  const auto scramble = [&](auto record) {
    std::array<std::byte, sizeof record> bytes;
    // Small numbers meet each other, large ones overflow.
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 2);
    std::memcpy(&record, bytes.data(), sizeof record);
    return record;
  };
  const auto write = [&](SpoolWriter& spool) {
    for (int i = 0; i < 200; ++i) {
      spool.append(scramble(ProcessRecord{}));
      spool.append(scramble(DeviceRecord{}));
      spool.append(scramble(ContextRecord{}));
      spool.append(scramble(StreamRecord{}));
      spool.append(scramble(StringRecord{}), std::as_bytes(std::span("\xff\0x", 3)));
      spool.append(scramble(KernelLaunchRecord{}));
      spool.append(scramble(KernelActivityRecord{}));
      spool.append(scramble(MemcpyCallRecord{}));
      spool.append(scramble(MemcpyActivityRecord{}));
      spool.append(scramble(MemsetCallRecord{}));
      spool.append(scramble(MemsetActivityRecord{}));
      spool.append(scramble(GraphLaunchRecord{}));
      spool.append(scramble(AllocationRecord{}));
      spool.append(scramble(FreeRecord{}));
      const AccessEntry entries[] = {scramble(AccessEntry{}), scramble(AccessEntry{})};
      spool.append(scramble(AccessRecord{}), std::as_bytes(std::span(entries)));
      spool.append(scramble(SyncRecord{}));
      spool.append(scramble(MarkerRecord{}));
      spool.append(scramble(CounterRecord{}));
      spool.append(scramble(TransferRecord{}));
      spool.append(scramble(GateRecord{}));
      spool.append(scramble(UmEventRecord{}));
      spool.append(scramble(OverheadRecord{}));
      spool.append(scramble(LossRecord{}));
    }
  };
  runtime(write);
  collector(write);
  Session session = ingest();
  EXPECT_EQ(session.count<AccessRow>(), 800);
  EXPECT_EQ(session.count<KernelRow>("correlation_id IS NOT NULL"), 400);
  EXPECT_EQ(session.count<LossRow>() > 0, true);
}

TEST_F(IngestTest, KnowsACardUnderTheNumbersOfEveryProcess) {
  spool(SpoolSource::kCollector, [](SpoolWriter& spool) { spool.append(card(0, 0xaa)); });
  spool(SpoolSource::kCollector, [](SpoolWriter& spool) { spool.append(card(1, 0xaa)); });
  Session session = ingest();
  EXPECT_EQ(session.count<DeviceRow>(), 1);
  EXPECT_EQ(query(session, "SELECT process_id, ordinal, device_id FROM process_device"), "1|0|1\n2|1|1");
}

TEST_F(IngestTest, PutsTogetherWhatHooksAndCuptiKnowOfACard) {
  runtime([](SpoolWriter& spool) {
    spool.append(ProcessRecord{.time_ns = 1, .rank = 2, .host = spool.intern("node1")});
    spool.append(
        DeviceRecord{.time_ns = 1, .device = 0, .pci_bus = 0x19, .memory_bytes = 512, .copy_engines = 3});
    spool.append(DeviceRecord{.time_ns = 1, .device = 1, .pci_bus = 0x3b});
  });
  collector([](SpoolWriter& spool) { spool.append(card(0, 0xaa)); });
  spool(SpoolSource::kSampler, [](SpoolWriter& spool) {
    spool.append(card(5, 0xaa));
    spool.append(DeviceRecord{.time_ns = 1, .device = 6, .pci_bus = 0x3b});
  });
  Session session = ingest();
  EXPECT_EQ(
      query(session, "SELECT host, substr(uuid, 1, 6), pci_address, memory_bytes, copy_engines FROM device"),
      "node1|GPU-aa|0000:19:00.0|512|3\nnode1|unknow|0000:3b:00.0|NULL|NULL");
  EXPECT_EQ(query(session, "SELECT ordinal, device_id FROM process_device"), "0|1\n1|2\n5|1\n6|2");
}

TEST_F(IngestTest, TellsOfLossesOfEveryKind) {
  runtime([](SpoolWriter& spool) {
    spool.append(LossRecord{.time_ns = 5,
                            .end_ns = 9,
                            .count = -1,
                            .detail = spool.intern("another CUPTI client"),
                            .what = RecordKind::kKernelActivity,
                            .reason = LossReason::kCupti});
    const std::vector<AccessEntry> many(100'000);
    spool.append(AccessRecord{7, 1, many.size()}, std::as_bytes(std::span(many)));
  });
  spew(directory_ / "bad", "no spool");
  paths_.push_back(directory_ / "bad");
  Session session = ingest();
  EXPECT_EQ(query(session, "SELECT what, reason, count, first_ns, last_ns FROM loss"),
            "kernel|dropped_by_cupti|NULL|5|9\naccess|no_buffer|1|7|7\nspool|damaged|1|NULL|NULL");
}

TEST_F(IngestTest, SaysThatAProcessWasKilled) {
  std::string error;
  auto writer = SpoolWriter::open_in(directory_.path(), {.source = SpoolSource::kRuntime}, &error);
  writer->append(launch(*writer, 0, "gemm"));
  writer->flush();
  paths_.push_back(writer->path());
  Session session = ingest();
  EXPECT_EQ(session.count<KernelRow>(), 1);
  EXPECT_EQ(session.count<LossRow>("detail LIKE '%ended without closing it%' AND count IS NULL"), 1);
}

}  // namespace
}  // namespace tferry::trace
