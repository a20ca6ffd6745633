#include "trace/join.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace tferry::trace {
namespace {

OperationShape kernel(StringId name, std::uint32_t grid = 1) {
  return {.name = name, .grid = {grid, 1, 1}, .block = {256, 1, 1}};
}
OperationShape copy(std::int64_t bytes) { return {.kind = OperationKind::kMemcpy, .bytes = bytes}; }

/// One stream: call n at time 1000 n, its record starts 500 later.
struct Stream {
  std::vector<JoinCall> calls;
  std::vector<JoinRecord> records;

  explicit Stream(const std::vector<OperationShape>& shapes, std::uint64_t stream = 1) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto time = static_cast<std::int64_t>(1000 * (i + 1));
      calls.push_back({.stream = stream, .sequence = i, .time_ns = time, .shape = shapes[i]});
      records.push_back({.stream = stream,
                         .correlation_id = static_cast<std::uint32_t>(i + 1),
                         .start_ns = time + 500,
                         .shape = shapes[i]});
    }
  }
  JoinResult join() const { return trace::join(calls, records, {.clock_slack_ns = 100}); }
};

using Indexes = std::vector<std::int64_t>;

TEST(JoinTest, NthCallIsNthRecord) {
  const Stream stream({kernel(1), copy(4096), kernel(2), kernel(2)});
  const JoinResult result = stream.join();
  EXPECT_EQ(result.record_of_call, (Indexes{0, 1, 2, 3}));
  EXPECT_EQ(result.call_of_record, (Indexes{0, 1, 2, 3}));
  EXPECT_EQ(result.counts.matched_calls, 4);
  EXPECT_EQ(result.counts.resynchronisations, 0);
}

// On an H200: the copies that the runtime submits within one cudaLaunchKernel have its correlation id.
TEST(JoinTest, CallsMadeWithinAnotherShareItsCorrelationId) {
  Stream stream(std::vector<OperationShape>(6, copy(16 << 20)));
  for (JoinRecord& record : stream.records) {
    record.alone = true;
    record.correlation_id = record.correlation_id <= 3 ? 7 : 8;
  }
  const JoinResult result = stream.join();
  EXPECT_EQ(result.record_of_call, (Indexes{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(result.counts.resynchronisations, 0);
}

TEST(JoinTest, ALostRecordCostsItsCallOnly) {
  Stream stream({kernel(1), kernel(2), kernel(3), kernel(4), kernel(5)});
  stream.records.erase(stream.records.begin() + 2);
  const JoinResult result = stream.join();
  EXPECT_EQ(result.record_of_call, (Indexes{0, 1, -1, 2, 3}));
  EXPECT_EQ(result.counts.resynchronisations, 1);
}

TEST(JoinTest, ALostCallCostsItsRecordOnly) {
  Stream stream({kernel(1), kernel(2), kernel(3), kernel(4), kernel(5)});
  stream.calls.erase(stream.calls.begin() + 2);
  EXPECT_EQ(stream.join().call_of_record, (Indexes{0, 1, -1, 2, 3}));
}

TEST(JoinTest, EqualShapesAreToldApartByTheirTimes) {
  Stream stream(std::vector<OperationShape>(6, kernel(1)));
  stream.calls.erase(stream.calls.begin(), stream.calls.begin() + 3);
  EXPECT_EQ(stream.join().call_of_record, (Indexes{-1, -1, -1, 0, 1, 2}));
}

TEST(JoinTest, GridAndBytesMustFit) {
  Stream stream({kernel(1, 8), copy(4096)});
  stream.records[0].shape.grid.x = 9;
  stream.records[1].shape.bytes = 4097;
  EXPECT_EQ(stream.join().record_of_call, (Indexes{-1, -1}));
}

TEST(JoinTest, UnknownNamesAndDirectionsFitEverything) {
  Stream stream({kernel(1), copy(4096)});
  stream.calls[0].shape.name = 0;
  stream.records[1].shape.copy = CopyKind::kHostToDevice;
  EXPECT_EQ(stream.join().record_of_call, (Indexes{0, 1}));
}

TEST(JoinTest, ACopyBetweenCardsFitsOneFromDeviceToDevice) {
  const auto copy_of = [](CopyKind kind) {
    return OperationShape{.kind = OperationKind::kMemcpy, .copy = kind, .bytes = 8};
  };
  EXPECT_TRUE(shapes_fit(copy_of(CopyKind::kPeer), copy_of(CopyKind::kDeviceToDevice)));
  EXPECT_FALSE(shapes_fit(copy_of(CopyKind::kPeer), copy_of(CopyKind::kHostToDevice)));
}

TEST(JoinTest, StreamsDoNotMix) {
  const Stream one({kernel(1), kernel(2)}, 1), other({kernel(1), kernel(2)}, 2);
  std::vector<JoinCall> calls = one.calls;
  calls.insert(calls.end(), other.calls.begin(), other.calls.end());
  EXPECT_EQ(join(calls, other.records).record_of_call, (Indexes{-1, -1, 0, 1}));
}

TEST(JoinTest, CallsThatOvertookEachOtherArePairedAfterwards) {
  Stream stream({kernel(1), kernel(2), kernel(3), kernel(4), kernel(5), kernel(6), kernel(7)});
  std::swap(stream.calls[2].sequence, stream.calls[3].sequence);
  EXPECT_EQ(stream.join().record_of_call, (Indexes{0, 1, 2, 3, 4, 5, 6}));
}

TEST(JoinTest, RecordsOfAGraphBelongToItsLaunch) {
  Stream stream({kernel(1), {.kind = OperationKind::kGraph}, kernel(2), {.kind = OperationKind::kGraph}});
  stream.records = {
      {.stream = 1, .correlation_id = 1, .start_ns = 1500, .shape = kernel(1)},
      {.stream = 1, .correlation_id = 2, .graph_id = 7, .start_ns = 2500, .shape = kernel(8)},
      {.stream = 9, .correlation_id = 2, .graph_id = 7, .start_ns = 2600, .shape = copy(64)},
      {.stream = 1, .correlation_id = 3, .start_ns = 3500, .shape = kernel(2)},
      {.stream = 1, .correlation_id = 4, .graph_id = 7, .start_ns = 4500, .shape = kernel(8)},
  };
  const JoinResult result = stream.join();
  EXPECT_EQ(result.call_of_record, (Indexes{0, 1, 1, 2, 3}));
  EXPECT_EQ(result.record_of_call, (Indexes{0, 1, 3, 4}));
}

TEST(JoinTest, ACopyInPartsIsOneCall) {
  Stream stream({copy(100), kernel(1)});
  stream.records = {{.stream = 1, .correlation_id = 1, .start_ns = 1500, .shape = copy(60)},
                    {.stream = 1, .correlation_id = 1, .start_ns = 1600, .shape = copy(40)},
                    {.stream = 1, .correlation_id = 2, .start_ns = 2500, .shape = kernel(1)}};
  EXPECT_EQ(stream.join().call_of_record, (Indexes{0, 0, 1}));
}

TEST(JoinTest, TwoKernelsOfOneCorrelationIdAreTwoCalls) {
  Stream stream({kernel(1), kernel(2), copy(64), kernel(3)});
  stream.records[1].correlation_id = stream.records[2].correlation_id = 1;
  const JoinResult result = stream.join();
  EXPECT_EQ(result.call_of_record, (Indexes{0, 1, 2, 3}));
  EXPECT_EQ(result.counts.resynchronisations, 0);
}

TEST(JoinTest, ABurstOfLostRecordsIsFoundFarAhead) {
  std::vector<OperationShape> shapes;
  for (std::uint32_t i = 0; i < 5000; ++i) shapes.push_back(kernel(i + 1));
  Stream stream(shapes);
  stream.records.erase(stream.records.begin() + 100, stream.records.begin() + 4000);
  const JoinResult result = stream.join();
  EXPECT_EQ(result.counts.matched_records, 1100);
  EXPECT_EQ(result.record_of_call[99], 99);
  EXPECT_EQ(result.record_of_call[100], -1);
  EXPECT_EQ(result.record_of_call[4000], 100);
}

TEST(JoinTest, SequencesWithNothingInCommonAreGivenUp) {
  std::vector<OperationShape> shapes;
  for (std::uint32_t i = 0; i < 20'000; ++i) shapes.push_back(kernel(i + 1));
  Stream stream(shapes);
  for (JoinRecord& record : stream.records) record.shape.name += 1'000'000;
  const JoinResult result = stream.join();
  EXPECT_EQ(result.counts.matched_calls, 0);
  EXPECT_LE(result.counts.resynchronisations, 20'000 / 64 + 1);
}

/// Random streams with losses, insertions and overtaking on both sides. `true_call` of a record is the
/// sequence number of the call that made it, or -1.
struct Damaged {
  std::vector<JoinCall> calls;
  std::vector<JoinRecord> records;
  std::vector<std::int64_t> true_call;

  /// `rarer` times fewer losses than one in twenty.
  Damaged(std::mt19937_64& random, bool distinct, std::size_t most = 400, std::uint64_t rarer = 1) {
    const std::size_t count = random() % most;
    const std::uint64_t names = distinct ? 1'000'000'007 : random() % 6 + 1;
    for (std::size_t i = 0; i < count; ++i) {
      const OperationShape shape = kernel(random() % names + 1, static_cast<std::uint32_t>(random() % 3 + 1));
      const auto time = static_cast<std::int64_t>(1000 * (i + 1));
      if (random() % (20 * rarer) != 0)
        calls.push_back({.stream = 1, .sequence = 2 * i, .time_ns = time, .shape = shape});
      if (random() % (50 * rarer) == 0) {
        calls.push_back({.stream = 1, .sequence = 2 * i + 1, .time_ns = time, .shape = kernel(999)});
      }
      if (random() % (20 * rarer) != 0) {
        records.push_back({.stream = 1,
                           .correlation_id = static_cast<std::uint32_t>(2 * i + 1),
                           .start_ns = time + 500,
                           .shape = shape});
        true_call.push_back(static_cast<std::int64_t>(2 * i));
      }
      if (random() % (50 * rarer) == 0) {
        records.push_back({.stream = 1,
                           .correlation_id = static_cast<std::uint32_t>(2 * i + 2),
                           .start_ns = time + 600,
                           .shape = kernel(998)});
        true_call.push_back(-1);
      }
      if (calls.size() > 1 && random() % (50 * rarer) == 0)
        std::swap(calls.back().sequence, calls[calls.size() - 2].sequence);
    }
    std::shuffle(calls.begin(), calls.end(), random);
  }
};

TEST(JoinTest, PairsAlwaysFitAndCountsAddUp) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const Damaged stream(random, false);
    const JoinResult result = join(stream.calls, stream.records);
    std::int64_t matched = 0;
    std::set<std::int64_t> used;
    for (std::size_t record = 0; record < stream.records.size(); ++record) {
      const std::int64_t call = result.call_of_record[record];
      if (call < 0) continue;
      ++matched;
      EXPECT_TRUE(used.insert(call).second) << "two records for one call";
      EXPECT_TRUE(
          shapes_fit(stream.calls[static_cast<std::size_t>(call)].shape, stream.records[record].shape));
      EXPECT_EQ(result.record_of_call[static_cast<std::size_t>(call)], static_cast<std::int64_t>(record));
    }
    EXPECT_EQ(result.counts.matched_records, matched);
    EXPECT_EQ(result.counts.matched_calls, matched);
    EXPECT_EQ(result.counts.calls, static_cast<std::int64_t>(stream.calls.size()));
    EXPECT_EQ(result.counts.records, static_cast<std::int64_t>(stream.records.size()));
  }
}

TEST(JoinTest, DistinctOperationsFindTheirOwnPartnerWhereverTheyHaveOne) {
  std::mt19937_64 random(4);
  std::int64_t possible = 0, found = 0;
  for (int round = 0; round < 500; ++round) {
    const Damaged stream(random, true);
    const JoinResult result = join(stream.calls, stream.records);
    std::set<std::int64_t> times;
    for (const JoinCall& call : stream.calls) {
      if (call.shape.name != 999) times.insert(call.time_ns);
    }
    for (std::size_t record = 0; record < stream.records.size(); ++record) {
      const std::int64_t call = result.call_of_record[record];
      const std::int64_t own_time = 1000 * (stream.true_call[record] / 2 + 1);
      if (stream.true_call[record] < 0) {
        EXPECT_EQ(call, -1);
      } else if (times.count(own_time) > 0) {
        ++possible;
        found += call >= 0;
        if (call >= 0) {
          EXPECT_EQ(stream.calls[static_cast<std::size_t>(call)].time_ns, own_time);
        }
      }
    }
  }
  EXPECT_GT(possible, 50'000);
  EXPECT_GT(static_cast<double>(found), 0.999 * static_cast<double>(possible));
}

/// Joins piece by piece as a long recording is joined: in each step everything before a moment, and what was
/// left unsettled. Partners by index in the whole.
JoinResult join_in_pieces(const Damaged& stream, std::mt19937_64& random, std::int64_t& settled_early) {
  JoinResult whole;
  whole.record_of_call.assign(stream.calls.size(), JoinResult::kNone);
  whole.call_of_record.assign(stream.records.size(), JoinResult::kNone);
  std::vector<std::size_t> calls, records;  // unsettled
  std::int64_t from_ns = 0;
  for (bool last = false; !last;) {
    const auto step = static_cast<std::int64_t>(random() % 300'000 + 1);
    last = from_ns > 3'000'000;
    const std::int64_t to_ns = last ? std::int64_t{1} << 60 : from_ns + step;
    for (std::size_t i = 0; i < stream.calls.size(); ++i) {
      if (stream.calls[i].time_ns >= from_ns && stream.calls[i].time_ns < to_ns) calls.push_back(i);
    }
    for (std::size_t i = 0; i < stream.records.size(); ++i) {
      if (stream.records[i].start_ns >= from_ns && stream.records[i].start_ns < to_ns) records.push_back(i);
    }
    from_ns = to_ns;
    std::vector<JoinCall> some_calls;
    std::vector<JoinRecord> some_records;
    for (const std::size_t i : calls) some_calls.push_back(stream.calls[i]);
    for (const std::size_t i : records) some_records.push_back(stream.records[i]);
    JoinOptions options;
    options.last = last;
    const JoinResult part = join(some_calls, some_records, options);
    whole.counts.calls += part.counts.calls;
    if (!last) settled_early += part.counts.calls;
    whole.counts.records += part.counts.records;
    whole.counts.matched_calls += part.counts.matched_calls;
    std::vector<std::size_t> calls_left, records_left;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!part.call_settled[i]) calls_left.push_back(calls[i]);
      if (part.record_of_call[i] < 0) continue;
      EXPECT_TRUE(part.call_settled[i]);
      EXPECT_TRUE(part.record_settled[static_cast<std::size_t>(part.record_of_call[i])]);
      const std::size_t record = records[static_cast<std::size_t>(part.record_of_call[i])];
      whole.record_of_call[calls[i]] = static_cast<std::int64_t>(record);
      whole.call_of_record[record] = static_cast<std::int64_t>(calls[i]);
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!part.record_settled[i]) records_left.push_back(records[i]);
    }
    calls = calls_left;
    records = records_left;
  }
  EXPECT_TRUE(calls.empty() && records.empty());
  return whole;
}

TEST(JoinTest, PieceByPieceGivesWhatTheWholeGives) {
  std::mt19937_64 random(11);
  std::int64_t settled_early = 0;
  for (int round = 0; round < 60; ++round) {
    const Damaged stream(random, round % 2 == 0, 3000, 4);
    const JoinResult whole = join(stream.calls, stream.records);
    const JoinResult pieces = join_in_pieces(stream, random, settled_early);
    EXPECT_EQ(pieces.record_of_call, whole.record_of_call) << round;
    EXPECT_EQ(pieces.call_of_record, whole.call_of_record) << round;
    EXPECT_EQ(pieces.counts.calls, whole.counts.calls);
    EXPECT_EQ(pieces.counts.records, whole.counts.records);
    EXPECT_EQ(pieces.counts.matched_calls, whole.counts.matched_calls);
  }
  EXPECT_GT(settled_early, 50'000);
}

TEST(JoinTest, OfALongStreamOnlyTheEndIsUnsettled) {
  std::vector<OperationShape> shapes;
  for (std::uint64_t i = 0; i < 10'000; ++i) shapes.push_back(kernel(i % 7 + 1));
  const Stream stream(shapes);
  JoinOptions options;
  options.last = false;
  const JoinResult result = join(stream.calls, stream.records, options);
  EXPECT_GT(result.counts.calls, 9'900);
  EXPECT_EQ(result.counts.matched_calls, result.counts.calls);
  EXPECT_LT(result.counts.calls, 10'000);
}

TEST(JoinTest, CallsThatNoRecordEverTellsOfAreNotKeptForEver) {
  std::vector<JoinCall> calls;
  for (std::uint64_t i = 0; i < 1000; ++i) calls.push_back({.stream = 1, .sequence = i, .shape = kernel(1)});
  JoinOptions options;
  options.last = false;
  EXPECT_EQ(join(calls, {}, options).counts.calls, 0);
  options.most_unsettled = 800;
  EXPECT_EQ(join(calls, {}, options).counts.calls, 600);
}

}  // namespace
}  // namespace tferry::trace
