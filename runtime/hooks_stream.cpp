// Streams, captures and graphs (ALGORITHMS.md, rules 7 and 9).
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"

#include <vector>

using namespace tferry::runtime;

namespace {

using CaptureState = Runtime::CaptureState;

/// A capture begins: counted before the driver knows of it, so that no thread of ours can break it in
/// between.
template <class Call>
CUresult begin_capture(CUstream stream, bool per_thread, Call pass) {
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr) runtime->capture_began(stream, per_thread);
  const CUresult result = pass();
  if (runtime != nullptr && result != CUDA_SUCCESS) runtime->capture_ended(nullptr);
  return result;
}

/// What succeeds has ended the capture. What fails may have, too (an invalid capture), or not (another thread
/// began it): the stream tells.
template <class Call>
CUresult end_capture(CUstream stream, bool per_thread, CUgraph* graph, Call pass) {
  Runtime* runtime = Runtime::active();
  if (runtime == nullptr) return pass();
  const bool was_capturing = runtime->is_capturing(stream, per_thread) == CaptureState::kYes;
  const CUresult result = pass();
  if (result == CUDA_SUCCESS) {
    runtime->capture_ended(graph != nullptr ? *graph : nullptr);
  } else if (was_capturing && runtime->is_capturing(stream, per_thread) == CaptureState::kNo) {
    runtime->capture_ended(nullptr);
  }
  return result;
}

template <class Call>
CUresult instantiate(CUgraph graph, CUgraphExec* exec, Call pass) {
  const CUresult result = with_retry(pass);
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr && result == CUDA_SUCCESS && exec != nullptr)
    runtime->graph_instantiated(graph, *exec);
  return result;
}

template <class Call>
CUresult create_stream(CUstream* stream, Call pass) {
  const CUresult result = with_retry(pass);
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr && result == CUDA_SUCCESS && stream != nullptr) runtime->stream_created(*stream);
  return result;
}

/// A stream reads or writes a word of device memory, perhaps long after this call, and others may wait for
/// that: the memory stays where it is from now on.
template <class Collect, class Call>
CUresult memory_operation(CUstream stream, bool per_thread, Collect addresses, Call pass) {
  return operate(
      stream, per_thread,
      [&](Runtime& runtime, Operation& operation) {
        addresses([&](CUdeviceptr address) {
          runtime.pin_down(operation, address, tferry::trace::ResidentReason::kShared);
          runtime.name(operation, address, tferry::trace::AccessKind::kMayTouch, sizeof(std::uint64_t));
        });
      },
      pass);
}

}  // namespace

TFERRY_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return create_stream(stream, [&] { return call(real().cuStreamCreate, stream, flags); });
}

TFERRY_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create_stream(stream,
                       [&] { return call(real().cuStreamCreateWithPriority, stream, flags, priority); });
}

TFERRY_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  Runtime* runtime = Runtime::active();
  const bool was_capturing = runtime != nullptr && runtime->is_capturing(stream, false) == CaptureState::kYes;
  if (runtime != nullptr) runtime->stream_destroyed(stream);
  const CUresult result = call(real().cuStreamDestroy_v2, stream);
  if (was_capturing && result == CUDA_SUCCESS) runtime->capture_ended(nullptr);
  return result;
}

#define TFERRY_BEGIN_CAPTURE(NAME, PER_THREAD)                                                 \
  TFERRY_EXPORT CUresult NAME(CUstream stream, CUstreamCaptureMode mode) {                     \
    return begin_capture(stream, PER_THREAD, [&] { return call(real().NAME, stream, mode); }); \
  }
TFERRY_BEGIN_CAPTURE(cuStreamBeginCapture_v2, false)
TFERRY_BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, true)

#define TFERRY_BEGIN_CAPTURE_TO(NAME, PER_THREAD)                                                          \
  TFERRY_EXPORT CUresult NAME(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,             \
                              const CUgraphEdgeData* edges, std::size_t count, CUstreamCaptureMode mode) { \
    return begin_capture(stream, PER_THREAD, [&] {                                                         \
      return call(real().NAME, stream, graph, dependencies, edges, count, mode);                           \
    });                                                                                                    \
  }
TFERRY_BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph, false)
TFERRY_BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph_ptsz, true)

#define TFERRY_END_CAPTURE(NAME, PER_THREAD)                                                         \
  TFERRY_EXPORT CUresult NAME(CUstream stream, CUgraph* graph) {                                     \
    return end_capture(stream, PER_THREAD, graph, [&] { return call(real().NAME, stream, graph); }); \
  }
TFERRY_END_CAPTURE(cuStreamEndCapture, false)
TFERRY_END_CAPTURE(cuStreamEndCapture_ptsz, true)

TFERRY_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                   unsigned long long flags) {
  return instantiate(graph, exec,
                     [&] { return call(real().cuGraphInstantiateWithFlags, exec, graph, flags); });
}

#define TFERRY_INSTANTIATE(NAME)                                                                             \
  TFERRY_EXPORT CUresult NAME(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) { \
    return instantiate(graph, exec, [&] { return call(real().NAME, exec, graph, parameters); });             \
  }
TFERRY_INSTANTIATE(cuGraphInstantiateWithParams)
TFERRY_INSTANTIATE(cuGraphInstantiateWithParams_ptsz)

TFERRY_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  const CUresult result = call(real().cuGraphDestroy, graph);
  if (Runtime* runtime = Runtime::active(); runtime != nullptr && result == CUDA_SUCCESS)
    runtime->graph_destroyed(graph);
  return result;
}

TFERRY_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const CUresult result = call(real().cuGraphExecDestroy, exec);
  if (Runtime* runtime = Runtime::active(); runtime != nullptr && result == CUDA_SUCCESS)
    runtime->graph_destroyed(exec);
  return result;
}

#define TFERRY_WORD_OPERATION(NAME, PER_THREAD, WORD)                                             \
  TFERRY_EXPORT CUresult NAME(CUstream stream, CUdeviceptr address, WORD value, unsigned flags) { \
    return memory_operation(                                                                      \
        stream, PER_THREAD, [&](auto visit) { visit(address); },                                  \
        [&] { return call(real().NAME, stream, address, value, flags); });                        \
  }
TFERRY_WORD_OPERATION(cuStreamWaitValue32_v2, false, cuuint32_t)
TFERRY_WORD_OPERATION(cuStreamWaitValue32_v2_ptsz, true, cuuint32_t)
TFERRY_WORD_OPERATION(cuStreamWaitValue64_v2, false, cuuint64_t)
TFERRY_WORD_OPERATION(cuStreamWaitValue64_v2_ptsz, true, cuuint64_t)
TFERRY_WORD_OPERATION(cuStreamWriteValue32_v2, false, cuuint32_t)
TFERRY_WORD_OPERATION(cuStreamWriteValue32_v2_ptsz, true, cuuint32_t)
TFERRY_WORD_OPERATION(cuStreamWriteValue64_v2, false, cuuint64_t)
TFERRY_WORD_OPERATION(cuStreamWriteValue64_v2_ptsz, true, cuuint64_t)

#define TFERRY_WORD_BATCH(NAME, PER_THREAD)                                                         \
  TFERRY_EXPORT CUresult NAME(CUstream stream, unsigned count, CUstreamBatchMemOpParams* list,      \
                              unsigned flags) {                                                     \
    return memory_operation(                                                                        \
        stream, PER_THREAD,                                                                         \
        [&](auto visit) {                                                                           \
          /* Waits and writes have their address in the same place. */                              \
          for (unsigned i = 0; list != nullptr && i < count; ++i) visit(list[i].waitValue.address); \
        },                                                                                          \
        [&] { return call(real().NAME, stream, count, list, flags); });                             \
  }
TFERRY_WORD_BATCH(cuStreamBatchMemOp_v2, false)
TFERRY_WORD_BATCH(cuStreamBatchMemOp_v2_ptsz, true)

namespace tferry::runtime {

std::span<const cuda::Hook> stream_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_HOOK(cuStreamCreate),
      TFERRY_HOOK(cuStreamCreateWithPriority),
      TFERRY_HOOK(cuStreamWaitValue32_v2),
      TFERRY_HOOK(cuStreamWaitValue32_v2_ptsz),
      TFERRY_HOOK(cuStreamWaitValue64_v2),
      TFERRY_HOOK(cuStreamWaitValue64_v2_ptsz),
      TFERRY_HOOK(cuStreamWriteValue32_v2),
      TFERRY_HOOK(cuStreamWriteValue32_v2_ptsz),
      TFERRY_HOOK(cuStreamWriteValue64_v2),
      TFERRY_HOOK(cuStreamWriteValue64_v2_ptsz),
      TFERRY_HOOK(cuStreamBatchMemOp_v2),
      TFERRY_HOOK(cuStreamBatchMemOp_v2_ptsz),
      TFERRY_HOOK(cuStreamDestroy_v2),
      TFERRY_HOOK(cuStreamBeginCapture_v2),
      TFERRY_HOOK(cuStreamBeginCapture_v2_ptsz),
      TFERRY_HOOK(cuStreamBeginCaptureToGraph),
      TFERRY_HOOK(cuStreamBeginCaptureToGraph_ptsz),
      TFERRY_HOOK(cuStreamEndCapture),
      TFERRY_HOOK(cuStreamEndCapture_ptsz),
      TFERRY_HOOK(cuGraphInstantiateWithFlags),
      TFERRY_HOOK(cuGraphInstantiateWithParams),
      TFERRY_HOOK(cuGraphInstantiateWithParams_ptsz),
      TFERRY_HOOK(cuGraphDestroy),
      TFERRY_HOOK(cuGraphExecDestroy),
  };
  return hooks;
}

}  // namespace tferry::runtime
