// Streams, captures and graphs (ALGORITHMS.md, rules 7 and 9).
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"

#include <vector>

using namespace tferry::runtime;

namespace {

/// A capture begins: counted before the driver knows of it, so that no thread of ours can break it in
/// between.
template <class Call>
CUresult begin_capture(Call pass) {
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr) runtime->capture_began();
  const CUresult result = pass();
  if (runtime != nullptr && result != CUDA_SUCCESS) runtime->capture_ended(nullptr);
  return result;
}

template <class Call>
CUresult end_capture(CUgraph* graph, Call pass) {
  const CUresult result = pass();
  // An invalidated capture has ended as well.
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr && result != CUDA_ERROR_ILLEGAL_STATE) {
    runtime->capture_ended(result == CUDA_SUCCESS && graph != nullptr ? *graph : nullptr);
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

}  // namespace

TFERRY_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  if (Runtime* runtime = Runtime::active()) runtime->stream_destroyed(stream);
  return call(real().cuStreamDestroy_v2, stream);
}

#define TFERRY_BEGIN_CAPTURE(NAME)                                         \
  TFERRY_EXPORT CUresult NAME(CUstream stream, CUstreamCaptureMode mode) { \
    return begin_capture([&] { return call(real().NAME, stream, mode); }); \
  }
TFERRY_BEGIN_CAPTURE(cuStreamBeginCapture_v2)
TFERRY_BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz)

#define TFERRY_BEGIN_CAPTURE_TO(NAME)                                                                      \
  TFERRY_EXPORT CUresult NAME(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,             \
                              const CUgraphEdgeData* edges, std::size_t count, CUstreamCaptureMode mode) { \
    return begin_capture(                                                                                  \
        [&] { return call(real().NAME, stream, graph, dependencies, edges, count, mode); });               \
  }
TFERRY_BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph)
TFERRY_BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph_ptsz)

#define TFERRY_END_CAPTURE(NAME)                                                 \
  TFERRY_EXPORT CUresult NAME(CUstream stream, CUgraph* graph) {                 \
    return end_capture(graph, [&] { return call(real().NAME, stream, graph); }); \
  }
TFERRY_END_CAPTURE(cuStreamEndCapture)
TFERRY_END_CAPTURE(cuStreamEndCapture_ptsz)

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

namespace tferry::runtime {

std::span<const cuda::Hook> stream_hooks() {
  static const cuda::Hook hooks[] = {
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
