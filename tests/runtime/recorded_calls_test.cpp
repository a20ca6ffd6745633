// What the hooks write of a job that is recorded, read from the spool while the program runs.
#include "tests/runtime/ferried_test.hpp"
#include "trace/job_environment.hpp"
#include "trace/spool_reader.hpp"
#include "trace/spool_writer.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tferry::runtime_test {
namespace {

// Before the runtime reads its environment, which it does once.
[[maybe_unused]] const bool recording_on = setenv(trace::environment::kRecord, "1", 1) == 0;

using trace::PoolOperationKind;
using trace::PoolOperationRecord;

class RecordedCalls : public FerriedTest {
 protected:
  /// The records of one kind that were written since the test began, once there are as many.
  template <typename Record>
  std::vector<Record> await(std::size_t count) const {
    std::vector<Record> records;
    while (records.size() < count) {
      records.clear();
      trace::SpoolReader reader(spool());
      while (const auto record = reader.next()) {
        const auto one = record->template as<Record>();
        if (one && one->time_ns >= begin_ns_) records.push_back(*one);
      }
      std::this_thread::yield();
    }
    return records;
  }
  /// What an operation names, once that is written.
  std::vector<trace::AccessEntry> accesses_of(std::uint64_t operation) const {
    for (;;) {
      trace::SpoolReader reader(spool());
      while (const auto record = reader.next()) {
        const auto access = record->as<trace::AccessRecord>();
        if (access && access->operation == operation) return record->accesses();
      }
      std::this_thread::yield();
    }
  }

  std::int64_t begin_ns_ = trace::SpoolWriter::now_ns();

 private:
  static std::string spool() {
    const std::string mine = "spool." + std::to_string(getpid()) + ".runtime.";
    for (const auto& entry :
         std::filesystem::directory_iterator(std::getenv(trace::environment::kRunDirectory))) {
      if (entry.path().filename().string().starts_with(mine)) return entry.path().string();
    }
    throw std::runtime_error("the runtime records nothing");
  }
};

TEST_F(RecordedCalls, WhatAProgramDoesToItsPools) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.maxSize = 5 << 20;
  CUmemoryPool pool = nullptr, absent = nullptr;
  ASSERT_OK(api_.cuMemPoolCreate(&pool, &properties));
  cuuint64_t everything = std::numeric_limits<cuuint64_t>::max();
  int no = 0;
  EXPECT_OK(api_.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything));
  EXPECT_OK(api_.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &no));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              api_.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &everything));
  EXPECT_OK(api_.cuDeviceSetMemPool(0, pool));
  EXPECT_OK(api_.cuMemPoolTrimTo(pool, 4096));
  EXPECT_NE(CUDA_SUCCESS, api_.cuMemPoolTrimTo(absent, 4096));
  EXPECT_OK(api_.cuMemPoolDestroy(pool));

  const auto calls = await<PoolOperationRecord>(6);
  ASSERT_EQ(6U, calls.size()) << "what the driver refused did not happen";
  const PoolOperationKind kinds[] = {PoolOperationKind::kCreate,       PoolOperationKind::kSetAttribute,
                                     PoolOperationKind::kSetAttribute, PoolOperationKind::kSetCurrent,
                                     PoolOperationKind::kTrim,         PoolOperationKind::kDestroy};
  for (std::size_t i = 0; i < 6; ++i) {
    const PoolOperationRecord& call = calls[i];
    EXPECT_EQ(kinds[i], call.kind) << i;
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(pool), call.pool);
    EXPECT_EQ(static_cast<std::uint32_t>(gettid()), call.thread);
    EXPECT_LE(call.time_ns, call.end_ns);
  }
  EXPECT_EQ(0, calls[0].device);
  EXPECT_EQ(5 << 20, calls[0].value);
  EXPECT_EQ(static_cast<std::uint32_t>(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), calls[1].attribute);
  EXPECT_EQ(std::numeric_limits<std::int64_t>::max(), calls[1].value);
  EXPECT_EQ(0, calls[2].value);
  EXPECT_EQ(0, calls[3].device);
  EXPECT_EQ(4096, calls[4].value);
}

TEST_F(RecordedCalls, AGraphsLaunchNamesWhatItsNodesName) {
  const CUdeviceptr first = allocate(2), second = allocate(1), untouched = allocate(1);
  fill(untouched, 1, 1);
  const CUstream capturing = stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_OK(api_.cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  fill(first, 2, 5, capturing);
  fill(first, 2, 6, capturing);
  ASSERT_OK(api_.cuMemcpyDtoDAsync_v2(second, first + kChunk, kChunk, capturing));
  ASSERT_OK(api_.cuStreamEndCapture(capturing, &graph));
  ASSERT_OK(api_.cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) ASSERT_OK(api_.cuGraphLaunch(exec, capturing));
  ASSERT_OK(api_.cuStreamSynchronize(capturing));
  EXPECT_TRUE(holds(first, 2, 6));

  const auto launches = await<trace::GraphLaunchRecord>(2);
  ASSERT_EQ(2U, launches.size());
  std::vector<std::uint64_t> allocations;
  for (const auto& made : await<trace::AllocationRecord>(3)) allocations.push_back(made.allocation);
  for (const auto& launch : launches) {
    std::vector<std::uint64_t> named;
    for (const trace::AccessEntry& entry : accesses_of(launch.operation)) {
      EXPECT_EQ(trace::KnownBy::kGraph, entry.known_by);
      EXPECT_EQ(trace::AccessKind::kMayTouch, entry.kind);
      named.push_back(entry.allocation);
    }
    std::sort(named.begin(), named.end());
    EXPECT_EQ((std::vector{allocations[0], allocations[1]}), named);
  }
  ASSERT_OK(api_.cuGraphExecDestroy(exec));
  ASSERT_OK(api_.cuGraphDestroy(graph));
}

}  // namespace
}  // namespace tferry::runtime_test
