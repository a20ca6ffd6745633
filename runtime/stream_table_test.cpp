#include "runtime/stream_table.hpp"

#include "runtime/device_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace tferry::runtime {
namespace {

class StreamTableTest : public DeviceTest {
 protected:
  StreamTable table_{driver()};
};

TEST_F(StreamTableTest, AStreamIsRegisteredOnce) {
  const CUstream one = stream();
  const StreamIndex index = table_.find(one, false);
  EXPECT_EQ(index, table_.find(one, false));
  EXPECT_NE(index, table_.find(stream(), false));
  EXPECT_EQ(2U, table_.program_streams());
  EXPECT_EQ(one, table_.handle(index));
}

TEST_F(StreamTableTest, TheDefaultStreamIsWhatTheCallSaysItIs) {
  const StreamIndex legacy = table_.find(nullptr, false);
  const StreamIndex of_thread = table_.find(nullptr, true);
  EXPECT_NE(legacy, of_thread);
  EXPECT_EQ(legacy, table_.find(CU_STREAM_LEGACY, true));
  EXPECT_EQ(of_thread, table_.find(CU_STREAM_PER_THREAD, false));
  StreamIndex of_other_thread = legacy;
  std::thread([&] {
    ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context_));
    of_other_thread = table_.find(nullptr, true);
  }).join();
  EXPECT_NE(of_thread, of_other_thread);
}

// Thread-local storage is used again, so a thread is not known by an address in it.
TEST_F(StreamTableTest, AThreadThatFollowsAnotherHasADefaultStreamOfItsOwn) {
  StreamIndex first = 0, second = 0;
  for (StreamIndex* index : {&first, &second}) {
    std::thread([&] {
      ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context_));
      *index = table_.find(CU_STREAM_PER_THREAD, false);
      table_.stamp(*index);
    }).join();
  }
  EXPECT_NE(first, second);
}

TEST_F(StreamTableTest, AMomentHasPassedWhenItsOperationHasEnded) {
  const CUstream worker = stream();
  const StreamIndex index = table_.find(worker, false);
  Gate gate;
  gate.close_after(worker);
  const Moment moment = table_.stamp(index);
  EXPECT_FALSE(table_.done(moment));
  EXPECT_FALSE(table_.known_done(moment));
  gate.open();
  table_.wait_on_host(moment);
  EXPECT_TRUE(table_.known_done(moment));
  EXPECT_TRUE(table_.done(moment));
}

TEST_F(StreamTableTest, AWaitIsSubmittedOnceAndOnlyForWhatHasNotPassed) {
  const CUstream worker = stream();
  const StreamIndex first = table_.find(worker, false);
  const StreamIndex second = table_.find(stream(), false);
  EXPECT_FALSE(table_.wait(second, table_.tail(first)));
  Gate gate;
  gate.close_after(worker);
  const Moment moment = table_.stamp(first);
  EXPECT_FALSE(table_.wait(first, moment)) << "a stream is in order with itself";
  EXPECT_TRUE(table_.wait(second, moment));
  EXPECT_FALSE(table_.wait(second, moment));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(table_.handle(second)));
  gate.open();
  EXPECT_EQ(CUDA_SUCCESS, cuStreamSynchronize(table_.handle(second)));
}

TEST_F(StreamTableTest, AStreamFirstSeenComesAfterAllThatIsQueued) {
  const CUstream worker = stream();
  const StreamIndex first = table_.find(worker, false);
  Gate gate;
  gate.close_after(worker);
  table_.stamp(first);
  const CUstream late = stream();
  table_.find(late, false);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(late));
  gate.open();
}

TEST_F(StreamTableTest, AStreamFirstSeenComesAfterDestroyedStreamsToo) {
  const CUstream worker = stream();
  Gate gate;
  gate.close_after(worker);
  const Moment moment = table_.stamp(table_.find(worker, false));
  table_.retire(worker);
  EXPECT_EQ(CUDA_SUCCESS, cuStreamDestroy(worker));
  EXPECT_EQ(0U, table_.program_streams());
  const CUstream late = stream();
  table_.find(late, false);
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(late));
  EXPECT_FALSE(table_.done(moment));
  gate.open();
  table_.wait_on_host(moment);
  EXPECT_TRUE(table_.done(moment));
}

TEST_F(StreamTableTest, TailsAreThoseOfProgramStreamsWithUnfinishedWork) {
  const CUstream worker = stream();
  const StreamIndex busy = table_.find(worker, false);
  table_.find(stream(), false);
  const StreamIndex own = table_.add_internal(stream(), context_);
  table_.stamp(own);
  Gate gate;
  gate.close_after(worker);
  table_.stamp(busy);
  table_.stamp(busy);
  Moments tails;
  table_.add_tails(tails);
  ASSERT_EQ(1, std::distance(tails.begin(), tails.end()));
  EXPECT_EQ(busy, tails.begin()->stream);
  EXPECT_EQ(2U, tails.begin()->sequence);
  gate.open();
}

TEST_F(StreamTableTest, AnIndexIsUsedAgainWhenItsStreamIsGoneAndDone) {
  const CUstream first = stream();
  const StreamIndex index = table_.find(first, false);
  table_.wait_on_host(table_.stamp(index));
  table_.retire(first);
  const CUstream second = stream();
  EXPECT_EQ(index, table_.find(second, false));
  EXPECT_EQ(second, table_.handle(index));
  EXPECT_LT(1U, table_.stamp(index).sequence) << "moments of the old stream stay in the past";
}

TEST_F(StreamTableTest, EventsAreRecordedOnlyWhenSomebodyWaits) {
  const StreamIndex index = table_.find(stream(), false);
  for (int i = 0; i < 100; ++i) table_.stamp(index);
  EXPECT_EQ(0, swd_calls("cuEventRecord"));
  table_.mark_every(index, 1000);
  EXPECT_EQ(0, swd_calls("cuEventRecord"));
  table_.mark_every(index, 16);
  EXPECT_EQ(1, swd_calls("cuEventRecord"));
  table_.mark(index);
  EXPECT_EQ(1, swd_calls("cuEventRecord")) << "nothing was queued since";
}

// With events recorded only when somebody asks, a stream that always has work queued would never look done.
TEST_F(StreamTableTest, WhatWasFreedEarlyIsKnownToBeDoneWhileLaterWorkIsQueued) {
  const CUstream worker = stream();
  table_.find(stream(), false);
  const StreamIndex index = table_.find(worker, false);
  const Moment freed = table_.stamp(index);
  Moments tail;
  tail.add(freed);
  table_.mark_for_reuse(tail, 1);
  ASSERT_EQ(CUDA_SUCCESS, cuStreamSynchronize(worker));  // the worker has come by the event
  Gate gate;
  gate.close_after(worker);
  const Moment later = table_.stamp(index);
  EXPECT_TRUE(table_.done(freed));
  EXPECT_FALSE(table_.done(later));
  gate.open();
}

TEST_F(StreamTableTest, EventsAreUsedAgain) {
  const StreamIndex index = table_.find(stream(), false);
  for (int i = 0; i < 500; ++i) table_.wait_on_host(table_.stamp(index));
  EXPECT_GT(50U, statistics().events);
}

// Without an event there is nothing that a stream could wait for: the wait may not be left out.
TEST_F(StreamTableTest, AFailingEventIsReplacedByAWaitOfTheHost) {
  for (const char* call : {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}) {
    StreamTable table(driver());
    const CUstream worker = stream();
    const StreamIndex first = table.find(worker, false);
    const StreamIndex second = table.find(stream(), false);
    const Moment moment = table.stamp(first);
    ASSERT_EQ(0, swd_fail(call, 1, CUDA_ERROR_UNKNOWN, 0));
    table.wait(second, moment);
    swd_clear_faults();
    EXPECT_TRUE(table.known_done(moment)) << call;
  }
}

TEST_F(StreamTableTest, TheEndOfAContextEndsItsWork) {
  const CUstream worker = stream();
  const Moment moment = table_.stamp(table_.find(worker, false));
  table_.forget_context(context_);
  EXPECT_TRUE(table_.known_done(moment));
  EXPECT_EQ(0U, table_.program_streams());
  Moments tails;
  table_.add_tails(tails);
  EXPECT_TRUE(tails.empty());
}

}  // namespace
}  // namespace tferry::runtime
