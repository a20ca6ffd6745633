#include "tests/software_driver/driver_fixture.hpp"

#include <functional>
#include <thread>

namespace tferry::software_driver {
namespace {

class CaptureTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    EXPECT_OK(cuMemAlloc(&words_, kGranule));
    EXPECT_OK(cuMemsetD32(words_, 0, 16));
    EXPECT_OK(cuCtxSynchronize());
    kernel_ = function("add");
    captured_ = stream();
  }

  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    EXPECT_OK(cuStreamBeginCapture(captured_, mode));
  }
  CUresult end() { return cuStreamEndCapture(captured_, &graph_); }
  /// Adds `value` to the word at `index`.
  void add(CUstream on, std::size_t index, std::uint32_t value) {
    CUdeviceptr word = words_ + 4 * index;
    std::uint64_t count = 1;
    void* values[] = {&word, &count, &value};
    EXPECT_OK(cuLaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, on, values, nullptr));
  }
  void replay(int times = 1) {
    CUgraphExec executable = nullptr;
    EXPECT_OK(cuGraphInstantiate(&executable, graph_, 0));
    for (int i = 0; i < times; ++i) EXPECT_OK(cuGraphLaunch(executable, captured_));
    EXPECT_OK(cuStreamSynchronize(captured_));
    EXPECT_OK(cuGraphExecDestroy(executable));
    EXPECT_OK(cuGraphDestroy(graph_));
  }
  /// What another thread, with this capture mode, gets from a call.
  CUresult on_another_thread(CUstreamCaptureMode mode, const std::function<CUresult()>& make_call) {
    CUresult result = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      EXPECT_OK(cuCtxSetCurrent(context_));
      EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
      result = make_call();
    }).join();
    return result;
  }

  CUdeviceptr words_ = 0;
  CUfunction kernel_ = nullptr;
  CUstream captured_ = nullptr;
  CUgraph graph_ = nullptr;
};

CUresult allocate_something() {
  CUdeviceptr base = 0;
  return cuMemAlloc(&base, 4);
}

TEST_F(CaptureTest, CapturedWorkRunsAtEachReplayAndNotBefore) {
  begin();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_OK(cuStreamIsCapturing(captured_, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  add(captured_, 0, 1);
  EXPECT_OK(cuMemsetD32Async(words_ + 4, 7, 1, captured_));
  EXPECT_OK(cuMemcpyDtoDAsync(words_ + 8, words_, 4, captured_));
  ASSERT_OK(end());
  EXPECT_EQ((std::vector<std::uint32_t>{0, 0, 0}), words_at(words_, 3));
  std::size_t nodes = 0;
  EXPECT_OK(cuGraphGetNodes(graph_, nullptr, &nodes));
  EXPECT_EQ(3U, nodes);
  replay(4);
  EXPECT_EQ((std::vector<std::uint32_t>{4, 7, 4}), words_at(words_, 3));
  EXPECT_EQ(0U, statistics().graphs);
}

TEST_F(CaptureTest, OtherStreamsForkAndJoinByEvents) {
  const CUstream side = stream();
  const CUevent fork = event(), join = event();
  begin();
  add(captured_, 0, 1);
  EXPECT_OK(cuEventRecord(fork, captured_));
  EXPECT_OK(cuStreamWaitEvent(side, fork, 0));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_OK(cuStreamIsCapturing(side, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  EXPECT_OK(cuMemcpyDtoDAsync(words_ + 4, words_, 4, side));
  EXPECT_OK(cuEventRecord(join, side));
  EXPECT_OK(cuStreamWaitEvent(captured_, join, 0));
  EXPECT_OK(cuMemcpyDtoDAsync(words_ + 8, words_ + 4, 4, captured_));
  ASSERT_OK(end());
  EXPECT_OK(cuStreamIsCapturing(side, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, status);
  replay(2);
  EXPECT_EQ((std::vector<std::uint32_t>{2, 2, 2}), words_at(words_, 3));
}

TEST_F(CaptureTest, AForkThatIsNotJoinedFailsTheCapture) {
  const CUstream side = stream();
  const CUevent fork = event();
  begin();
  EXPECT_OK(cuEventRecord(fork, captured_));
  EXPECT_OK(cuStreamWaitEvent(side, fork, 0));
  add(side, 0, 1);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, end());
  EXPECT_EQ(nullptr, graph_);
}

TEST_F(CaptureTest, AnUnsafeCallOnAnyThreadBreaksAGlobalCapture) {
  const CUevent idle = event();
  const CUstream other = stream();
  const std::function<CUresult()> unsafe[] = {
      allocate_something,
      [&] { return cuEventQuery(idle); },
      [&] { return cuEventSynchronize(idle); },
      [&] { return cuStreamQuery(other); },
      [&] { return cuStreamSynchronize(other); },
      [] { return cuCtxSynchronize(); },
  };
  for (const auto& make_call : unsafe) {
    begin();
    EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                on_another_thread(CU_STREAM_CAPTURE_MODE_GLOBAL, make_call));
    EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  }
}

TEST_F(CaptureTest, ARelaxedThreadMayCallAnything) {
  const CUevent idle = event();
  begin();
  EXPECT_OK(on_another_thread(CU_STREAM_CAPTURE_MODE_RELAXED, allocate_something));
  EXPECT_OK(on_another_thread(CU_STREAM_CAPTURE_MODE_RELAXED, [&] { return cuEventQuery(idle); }));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CU_STREAM_CAPTURE_MODE_GLOBAL, mode);
  EXPECT_OK(allocate_something());
  EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CU_STREAM_CAPTURE_MODE_RELAXED, mode);
  ASSERT_OK(end());
  EXPECT_OK(cuGraphDestroy(graph_));
}

TEST_F(CaptureTest, AThreadLocalCaptureMindsItsOwnThreadOnly) {
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_OK(on_another_thread(CU_STREAM_CAPTURE_MODE_GLOBAL, allocate_something));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, allocate_something());
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
}

TEST_F(CaptureTest, MappingCallsAreSafe) {
  begin();
  mapped(1);
  ASSERT_OK(end());
  EXPECT_OK(cuGraphDestroy(graph_));
}

TEST_F(CaptureTest, TheLegacyStreamMustNotDependOnACapture) {
  captured_ = stream(CU_STREAM_DEFAULT);
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(words_, 1, 1, nullptr));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD32Async(words_, 1, 1, captured_));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
}

TEST_F(CaptureTest, SynchronousCopiesAreUnsafe) {
  begin();
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemcpyDtoD(words_, words_ + 4, 4));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
}

TEST_F(CaptureTest, ACapturedEventCannotBeAskedEvenByARelaxedThread) {
  const CUevent inside = event();
  begin();
  EXPECT_OK(cuEventRecord(inside, captured_));
  EXPECT_CUDA(CUDA_ERROR_CAPTURED_EVENT,
              on_another_thread(CU_STREAM_CAPTURE_MODE_RELAXED, [&] { return cuEventQuery(inside); }));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
}

TEST_F(CaptureTest, WaitingForWorkOutsideBreaksTheCapture) {
  const CUevent outside = event();
  EXPECT_OK(cuEventRecord(outside, stream()));
  begin();
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(captured_, outside, 0));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
}

TEST_F(CaptureTest, CapturesEndWhereTheyBegan) {
  begin();
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, on_another_thread(CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
                return cuStreamEndCapture(captured_, &graph);
              }));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(captured_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(end());
  EXPECT_OK(cuGraphDestroy(graph_));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, end());
}

TEST_F(CaptureTest, CaptureInfoTellsGraphAndTail) {
  begin();
  add(captured_, 0, 1);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* tail = nullptr;
  std::size_t count = 0;
  EXPECT_OK(cuStreamGetCaptureInfo(captured_, &status, &id, &graph, &tail, nullptr, &count));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  EXPECT_NE(0U, id);
  ASSERT_EQ(1U, count);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  EXPECT_OK(cuGraphNodeGetType(tail[0], &type));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_KERNEL, type);
  ASSERT_OK(end());
  EXPECT_EQ(graph, graph_);
  EXPECT_OK(cuGraphDestroy(graph_));
}

TEST_F(CaptureTest, MemoryAllocatedInACaptureLivesWithTheGraph) {
  const std::size_t before = statistics().memory_used;
  CUdeviceptr inner = 0;
  begin();
  EXPECT_OK(cuMemAllocAsync(&inner, kGranule, captured_));
  EXPECT_OK(cuMemsetD32Async(inner, 3, 1, captured_));
  EXPECT_OK(cuMemcpyDtoDAsync(words_, inner, 4, captured_));
  EXPECT_OK(cuMemFreeAsync(inner, captured_));
  ASSERT_OK(end());
  EXPECT_LT(before, statistics().memory_used);
  replay(3);
  EXPECT_EQ(3U, word_at(words_));
  EXPECT_EQ(before, statistics().memory_used);
}

TEST_F(CaptureTest, AGraphLaunchedInACaptureBecomesPartOfIt) {
  begin();
  add(captured_, 0, 1);
  ASSERT_OK(end());
  CUgraphExec inner = nullptr;
  ASSERT_OK(cuGraphInstantiate(&inner, graph_, 0));
  EXPECT_OK(cuGraphDestroy(graph_));
  begin();
  EXPECT_OK(cuGraphLaunch(inner, captured_));
  add(captured_, 0, 10);
  ASSERT_OK(end());
  CUgraphNode nodes[2] = {};
  std::size_t count = 2;
  CUgraph child = nullptr;
  EXPECT_OK(cuGraphGetNodes(graph_, nodes, &count));
  EXPECT_OK(cuGraphChildGraphNodeGetGraph(nodes[0], &child));
  EXPECT_OK(cuGraphGetNodes(child, nullptr, &count));
  EXPECT_EQ(1U, count);
  EXPECT_OK(cuGraphExecDestroy(inner));
  replay(2);
  EXPECT_EQ(22U, word_at(words_));
}

TEST_F(CaptureTest, NodesTellWhatTheyTouch) {
  begin();
  add(captured_, 3, 5);
  EXPECT_OK(cuMemsetD32Async(words_ + 4, 7, 2, captured_));
  EXPECT_OK(cuMemcpyDtoDAsync(words_ + 64, words_, 16, captured_));
  ASSERT_OK(end());
  CUgraphNode nodes[3] = {};
  std::size_t count = 3;
  ASSERT_OK(cuGraphGetNodes(graph_, nodes, &count));
  CUDA_KERNEL_NODE_PARAMS kernel{};
  ASSERT_OK(cuGraphKernelNodeGetParams(nodes[0], &kernel));
  EXPECT_EQ(kernel_, kernel.func);
  EXPECT_EQ(words_ + 12, *static_cast<CUdeviceptr*>(kernel.kernelParams[0]));
  CUDA_MEMSET_NODE_PARAMS set{};
  ASSERT_OK(cuGraphMemsetNodeGetParams(nodes[1], &set));
  EXPECT_EQ(words_ + 4, set.dst);
  EXPECT_EQ(2U, set.width);
  CUDA_MEMCPY3D copy{};
  ASSERT_OK(cuGraphMemcpyNodeGetParams(nodes[2], &copy));
  EXPECT_EQ(words_, copy.srcDevice);
  EXPECT_EQ(words_ + 64, copy.dstDevice);
  EXPECT_EQ(16U, copy.WidthInBytes);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuGraphMemcpyNodeGetParams(nodes[0], &copy));
  EXPECT_OK(cuGraphDestroy(graph_));
}

TEST_F(CaptureTest, GraphsCanBeBuiltNodeByNodeAndCapturedInto) {
  ASSERT_OK(cuGraphCreate(&graph_, 0));
  CUgraphNode first = nullptr, second = nullptr;
  const CUDA_MEMSET_NODE_PARAMS set{words_, 0, 6, 4, 1, 1};
  ASSERT_OK(cuGraphAddMemsetNode(&first, graph_, nullptr, 0, &set, context_));
  CUdeviceptr word = words_;
  std::uint64_t count = 1;
  std::uint32_t value = 1;
  void* values[] = {&word, &count, &value};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = kernel_;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = values;
  ASSERT_OK(cuGraphAddKernelNode(&second, graph_, &first, 1, &kernel));
  ASSERT_OK(
      cuStreamBeginCaptureToGraph(captured_, graph_, &second, nullptr, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
  add(captured_, 0, 10);
  ASSERT_OK(end());
  replay(2);
  EXPECT_EQ(17U, word_at(words_));
}

TEST_F(CaptureTest, AnExternalRecordHappensAtReplay) {
  const CUevent mark = event();
  begin();
  EXPECT_OK(cuEventRecordWithFlags(mark, captured_, CU_EVENT_RECORD_EXTERNAL));
  ASSERT_OK(end());
  Gate gate;
  gate.close_after(captured_);
  CUgraphExec executable = nullptr;
  ASSERT_OK(cuGraphInstantiate(&executable, graph_, 0));
  ASSERT_OK(cuGraphLaunch(executable, captured_));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, cuEventQuery(mark));
  gate.open();
  EXPECT_OK(cuEventSynchronize(mark));
  EXPECT_OK(cuGraphExecDestroy(executable));
  EXPECT_OK(cuGraphDestroy(graph_));
}

}  // namespace
}  // namespace tferry::software_driver
