// Transfers as literals, in ms and MB: what they lost, to whom and why.
#include "analyzer/contention/idle.hpp"
#include "analyzer/contention/lost_time.hpp"
#include "analyzer/contention/traffic.hpp"
#include "analyzer/contention/windows.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace tferry::analyzer {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kMB = 1'000'000;

/// At 50 MB a ms, alone.
HostTransfer copy(std::int64_t device, Way way, double start_ms, double end_ms, std::int64_t megabytes,
                  std::int64_t process = 0) {
  HostTransfer transfer;
  transfer.process = process == 0 ? device : process;
  transfer.device = device;
  transfer.way = way;
  transfer.memory = HostMemory::kPinned;
  transfer.start_ns = static_cast<std::int64_t>(start_ms * kMs);
  transfer.end_ns = static_cast<std::int64_t>(end_ms * kMs);
  transfer.bytes = megabytes * kMB;
  return transfer;
}

const SoloRates kFifty{50.0, 50.0, SoloSource::kAssumed};

LostTime analyzed(const std::vector<HostTransfer>& transfers, const std::vector<LinkPath>& paths = {},
                  const std::vector<double>& foreign = {}) {
  return lost_time(transfers, solo_times(transfers, kFifty, {}), paths, foreign);
}

TEST(LostTime, TwoGpusOnOneLinkHalveEachOther) {
  // Each 100 MB, 2 ms alone, 4 ms together.
  const std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 4, 100), copy(2, Way::kIn, 0, 4, 100)};
  const LostTime lost = analyzed(transfers, {{1, {11, 10}}, {2, {12, 10}}});
  EXPECT_EQ(lost.lost_ns[0], 2.0 * kMs);
  ASSERT_EQ(lost.losses.size(), 2u);
  EXPECT_EQ(lost.losses[0].culprit, 1u);
  EXPECT_EQ(lost.losses[0].cause, Cause::kLink);
  EXPECT_EQ(lost.losses[0].link, 10);
  EXPECT_EQ(lost.losses[1].culprit, 0u);
}

// Copies from memory beside the GPU take 2 ms, those from the other node 3: alone, so nobody else is to
// blame.
TEST(LostTime, MemoryOfAnotherNodeIsJudgedByThatBesideTheGpu) {
  std::vector<HostTransfer> transfers;
  for (int i = 0; i < 3; ++i) transfers.push_back(copy(1, Way::kIn, 10 * i, 10 * i + 2, 100));
  for (int i = 3; i < 6; ++i) transfers.push_back(copy(1, Way::kIn, 10 * i, 10 * i + 3, 100));
  for (int i = 3; i < 6; ++i) transfers[static_cast<std::size_t>(i)].far = true;
  const LostTime lost = lost_time(transfers, solo_times(transfers, {}, {}), {}, {});
  EXPECT_EQ(lost.lost_ns[0], 0);
  EXPECT_EQ(lost.lost_ns[5], 1.0 * kMs);
  ASSERT_EQ(lost.losses.size(), 3u);
  for (const Loss& loss : lost.losses) {
    EXPECT_EQ(loss.cause, Cause::kNuma);
    EXPECT_FALSE(loss.culprit);
  }
  const std::vector<HostTransfer> far(transfers.begin() + 3, transfers.end());
  EXPECT_EQ(lost_time(far, solo_times(far, {}, {}), {}, {}).lost_ns[2], 0)
      << "there is nothing nearer to go by";
}

TEST(LostTime, WhatTwoTransfersShareDependsOnTheTree) {
  const HostTransfer one = copy(1, Way::kIn, 0, 1, 1);
  const std::vector<LinkPath> apart{{1, {11}}, {2, {12}}};
  EXPECT_EQ(shared_resource(one, copy(2, Way::kIn, 0, 1, 1), apart)->cause, Cause::kHostMemory);
  EXPECT_EQ(shared_resource(one, copy(2, Way::kOut, 0, 1, 1), {})->cause, Cause::kLinkOrHost);
  EXPECT_EQ(shared_resource(one, copy(1, Way::kOut, 0, 1, 1), apart)->cause, Cause::kLink);
  EXPECT_EQ(shared_resource(one, copy(1, Way::kIn, 0, 1, 1), apart)->cause, Cause::kCopyEngine);
  EXPECT_EQ(shared_resource(one, copy(1, Way::kIn, 0, 1, 1, 7), apart)->cause, Cause::kLink)
      << "two processes on one GPU have the link in common";
  EXPECT_FALSE(shared_resource(one, copy(2, Way::kPeer, 0, 1, 1), apart));
}

TEST(LostTime, TwoCulpritsShareWhatAVictimLostWhileTheyRan) {
  // 100 MB alone take 2 ms; here 5. In 1..2 one other runs, in 2..4 both.
  const std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 5, 100), copy(2, Way::kIn, 1, 4, 150),
                                            copy(3, Way::kIn, 2, 4, 100)};
  const LostTime lost = analyzed(transfers);
  std::map<std::size_t, double> by_culprit;
  for (const Loss& loss : lost.losses) {
    if (loss.victim == 0) by_culprit[*loss.culprit] += loss.lost_ns / kMs;
  }
  EXPECT_DOUBLE_EQ(by_culprit[1], 2);  // 1 ms by itself, and half of 2
  EXPECT_DOUBLE_EQ(by_culprit[2], 1);
}

TEST(LostTime, NobodyIsBlamedForMoreThanTheTimeThatItWasThere) {
  // 6 ms lost, another copy beside it for 1 ms.
  const std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 8, 100), copy(2, Way::kIn, 0, 1, 50)};
  const LostTime lost = analyzed(transfers);
  ASSERT_EQ(lost.losses.size(), 2u);
  EXPECT_EQ(lost.losses[0].lost_ns, 1.0 * kMs);
  EXPECT_FALSE(lost.losses[1].culprit);
  EXPECT_EQ(lost.losses[1].cause, Cause::kUnexplained);
  EXPECT_EQ(lost.losses[1].lost_ns, 5.0 * kMs);
}

TEST(LostTime, PageableMemoryAndForeignTrafficExplainWhatNobodyElseDid) {
  std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 8, 100), copy(1, Way::kIn, 10, 14, 100)};
  transfers[0].memory = HostMemory::kPageable;
  const LostTime lost = analyzed(transfers, {}, {0, 80.0 * kMB});
  ASSERT_EQ(lost.losses.size(), 2u);
  EXPECT_EQ(lost.losses[0].cause, Cause::kPageable);
  EXPECT_EQ(lost.losses[1].cause, Cause::kOtherProcess);
}

RC_GTEST_PROP(LostTimeProperty, LossesAddUpAndAreNotNegative, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  std::vector<HostTransfer> transfers;
  for (unsigned i = 0; i < 1 + seed % 40; ++i) {
    const double start = random() % 100 * 0.1;
    const double duration = 0.1 + random() % 50 * 0.1;
    transfers.push_back(copy(1 + random() % 3, random() % 2 == 0 ? Way::kIn : Way::kOut, start,
                             start + duration, 1 + random() % 200));
  }
  const std::vector<SoloTime> solo = solo_times(transfers, kFifty, {});
  const LostTime lost = lost_time(transfers, solo, {}, {});
  std::vector<double> sums(transfers.size());
  double all = 0;
  for (const Loss& loss : lost.losses) {
    RC_ASSERT(loss.lost_ns >= 0);
    sums[loss.victim] += loss.lost_ns;
    all += loss.lost_ns;
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    RC_ASSERT(lost.lost_ns[i].has_value() == solo[i].ns.has_value());
    RC_ASSERT(std::abs(sums[i] - lost.lost_ns[i].value_or(0)) < 1e-3);
  }
  double in_windows = 0;
  for (const ContentionWindow& window : contention_windows(transfers, solo, lost.losses)) {
    for (const WindowLoss& loss : window.losses) in_windows += loss.lost_ns;
  }
  RC_ASSERT(std::abs(in_windows - all) < 1e-2);
}

TEST(SoloTimes, ComeFromThoseThatRanAlone) {
  std::vector<HostTransfer> transfers;
  for (int i = 0; i < 3; ++i) transfers.push_back(copy(1, Way::kIn, 10 * i, 10 * i + 2, 100));
  transfers.push_back(copy(1, Way::kIn, 50, 54, 100));
  transfers.push_back(copy(2, Way::kIn, 50, 54, 100));
  const std::vector<SoloTime> solo = solo_times(transfers, {}, {});
  EXPECT_EQ(solo[3].ns, 2.0 * kMs);
  EXPECT_EQ(solo[3].source, SoloSource::kLearned);
  EXPECT_FALSE(solo[4].ns) << "of another GPU nothing ran alone";
}

TEST(SoloTimes, ARateSaysNothingAboutSmallCopiesNorACalibrationAboutPageableMemory) {
  std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 1, 0), copy(1, Way::kIn, 2, 9, 100)};
  transfers[0].bytes = 4096;
  transfers[1].memory = HostMemory::kPageable;
  const std::vector<SoloTime> solo = solo_times(transfers, {}, {{1, {50.0, 50.0, SoloSource::kMeasured}}});
  EXPECT_FALSE(solo[0].ns);
  EXPECT_FALSE(solo[1].ns);
  transfers[1].memory = HostMemory::kPinned;
  EXPECT_EQ(solo_times(transfers, {}, {{1, {50.0, 50.0, SoloSource::kMeasured}}})[1].source,
            SoloSource::kMeasured);
}

TEST(Windows, APauseSeparatesThem) {
  const std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 4, 100), copy(2, Way::kIn, 0, 4, 100),
                                            copy(1, Way::kIn, 9, 13, 100), copy(2, Way::kIn, 9, 13, 100)};
  const std::vector<SoloTime> solo = solo_times(transfers, kFifty, {});
  const auto windows = contention_windows(transfers, solo, lost_time(transfers, solo, {}, {}).losses);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[1].begin_ns, 9 * kMs);
  EXPECT_EQ(windows[1].lost_ns, 4.0 * kMs);
  ASSERT_EQ(windows[1].losses.size(), 2u);
  EXPECT_EQ(windows[1].losses[0].known_by, SoloSource::kAssumed);
}

TEST(QueueWaits, ACopyThatWasReadyWaitsForTheEngine) {
  std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 4, 200), copy(1, Way::kIn, 4, 6, 100),
                                      copy(1, Way::kOut, 4, 6, 100)};
  transfers[1].ready_ns = 1 * kMs;
  transfers[2].ready_ns = 1 * kMs;
  const std::vector<QueueWait> waits = queue_waits(transfers);
  ASSERT_EQ(waits.size(), 1u) << "the other direction has an engine of its own";
  EXPECT_EQ(waits[0].transfer, 1u);
  EXPECT_EQ(waits[0].waited_ns, 3.0 * kMs);
}

TEST(Traffic, CountersShowWhatNobodyRecorded) {
  const std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 2, 100)};
  Traffic traffic;
  traffic[{1, Way::kIn}] = {{0, 2 * kMs, 106.0 * kMB}, {2 * kMs, 4 * kMs, 50.0 * kMB}};
  TrafficCheck check = check_traffic(transfers, traffic);
  EXPECT_NEAR(check.links.at({1, Way::kIn}).unexplained_bytes, 50.0 * kMB, 1);
  EXPECT_EQ(check.foreign_bytes[0], 0);
  traffic[{1, Way::kIn}][0].bytes = 190.0 * kMB;
  check = check_traffic(transfers, traffic);
  EXPECT_NEAR(check.foreign_bytes[0], (190 - 1.1 * 105.6) * kMB, 1);
}

TEST(Traffic, WhatCollectivesMoveThroughHostMemoryIsTold) {
  // 50 GB/s copied in 4 ms instead of 2, while a collective reads as much for the first 2 ms.
  const std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 4, 100), copy(1, Way::kIn, 10, 14, 100)};
  Traffic traffic;
  for (const int begin : {0, 2, 10, 12}) {
    const double collective = begin % 10 == 0 ? 50 : 0;
    traffic[{1, Way::kIn}].push_back(
        {begin * kMs, (begin + 2) * kMs, (50 * kWireShare + collective) * static_cast<double>(kMB)});
  }
  const Collectives collectives{{1, {{0, 2 * kMs}}}, {2, {{10 * kMs, 14 * kMs}}}};
  const TrafficCheck check = check_traffic(transfers, traffic, collectives);
  EXPECT_NEAR(check.collective_bytes[0], check.foreign_bytes[0], 1);
  EXPECT_EQ(check.collective_bytes[1], 0) << "that collective ran on another GPU";
  const LostTime lost = lost_time(transfers, solo_times(transfers, kFifty, {}), {}, check.foreign_bytes,
                                  check.collective_bytes);
  ASSERT_EQ(lost.losses.size(), 2u);
  EXPECT_EQ(lost.losses[0].cause, Cause::kCollective);
  EXPECT_EQ(lost.losses[1].cause, Cause::kOtherProcess);
}

TEST(Traffic, ABriefCollectiveCannotHaveMovedIt) {
  const std::vector<HostTransfer> transfers{copy(1, Way::kIn, 0, 4, 100)};
  Traffic traffic;
  traffic[{1, Way::kIn}] = {{0, 4 * kMs, 200.0 * kMB}};
  const TrafficCheck check = check_traffic(transfers, traffic, {{1, {{kMs, kMs + kMs / 10}}}});
  EXPECT_NEAR(check.collective_bytes[0], 5.0 * kMB, 1);
  EXPECT_GT(check.foreign_bytes[0], 80.0 * kMB);
}

TEST(Intervals, AreUnitedAndNeverAddedUpTwice) {
  const std::vector<Interval> one = united({{5, 9}, {0, 3}, {2, 4}, {7, 7}, {8, 12}});
  EXPECT_EQ(one, (std::vector<Interval>{{0, 4}, {5, 12}}));
  EXPECT_EQ(length(one), 11);
  EXPECT_EQ(overlap(one, 3, 6), 2);
  EXPECT_EQ(without(one, -1, 6), (std::vector<Interval>{{-1, 0}, {4, 5}}));
}

TEST(Idle, EveryMomentHasOneReason) {
  // busy 0-10, copy 10-13, collective 20-30, then a late launch, then one after a synchronisation.
  const std::vector<KernelRun> kernels{{0, 10 * kMs, 0, false},
                                       {20 * kMs, 30 * kMs, 5 * kMs, true},
                                       {30 * kMs + 50'000, 40 * kMs, 30 * kMs + 40'000, false},
                                       {45 * kMs, 50 * kMs, 44 * kMs, false},
                                       {60 * kMs, 61 * kMs, 60 * kMs, false},
                                       {65 * kMs, 66 * kMs, std::nullopt, false}};
  const IdleTimes times = idle_times(kernels, {{10 * kMs, 13 * kMs}}, {{40 * kMs, 43 * kMs + 990'000}});
  EXPECT_EQ(times.span, 66 * kMs);
  EXPECT_EQ(times.collective, 10 * kMs);
  EXPECT_EQ(times.transfer, 3 * kMs);
  EXPECT_EQ(times.blocked, 3 * kMs + 990'000);
  EXPECT_EQ(times.no_work, 10 * kMs);
  EXPECT_EQ(times.unknown, 4 * kMs);
  EXPECT_EQ(times.busy + times.collective + times.transfer + times.blocked + times.launch + times.no_work +
                times.unknown,
            times.span);
}

}  // namespace
}  // namespace tferry::analyzer
