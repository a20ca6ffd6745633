#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"

#include <algorithm>
#include <utility>

namespace tferry::software_driver {
namespace {

void capture_info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, std::size_t* count) {
  const auto stream = stream_of(handle);
  checked(status) = captures().status(*stream);
  captures().with(*stream, [&](Capture& capture, const std::set<std::size_t>& tail) {
    if (id) *id = capture.id;
    if (graph) *graph = capture.graph->handle;
    capture.told_dependencies.clear();
    for (const std::size_t node : tail)
      capture.told_dependencies.push_back(capture.graph->nodes[node].handle);
    if (dependencies) *dependencies = capture.told_dependencies.data();
    if (count) *count = tail.size();
  });
}

CUgraphExec instantiate(CUgraph handle, unsigned long long flags) {
  const auto graph = driver().graphs.get(handle);
  auto executable = std::make_shared<GraphExec>();
  executable->graph = std::make_shared<const Graph>(*graph);
  executable->flags = flags;
  return driver().executables.insert(std::move(executable));
}

void instantiate(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  checked(parameters).result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  checked(out) = instantiate(graph, parameters->flags);
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
}

void enqueue_nodes(const Graph& graph, const std::shared_ptr<const GraphExec>& executable, Stream& stream) {
  for (const GraphNode& node : graph.nodes) {
    if (node.child) {
      enqueue_nodes(*node.child->graph, executable, stream);
      continue;
    }
    Work work = replayed(node.work);
    // What the graph owns lives until its last launch is done.
    if (node.work.kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC) work.run = [executable] {};
    const auto done = work.done;
    stream.context()->submit(stream, std::move(work));
    if (node.records) node.records->set_last(done);
  }
}

void launch(CUgraphExec handle, CUstream stream_handle) {
  const std::shared_ptr<const GraphExec> executable = driver().executables.get(handle);
  const auto stream = stream_of(stream_handle);
  if (captures().record_graph(*stream, *executable->graph)) return;
  enqueue_nodes(*executable->graph, executable, *stream);
}

void begin_to_graph(CUstream stream, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
                    CUstreamCaptureMode mode) {
  require(mode <= CU_STREAM_CAPTURE_MODE_RELAXED && (count == 0 || dependencies));
  const auto graph = driver().graphs.get(handle);
  std::set<std::size_t> after;
  for (std::size_t i = 0; i < count; ++i) after.insert(index_of(*graph, dependencies[i]));
  captures().begin_into(stream_of(stream), mode, graph, after);
}

void nodes_of(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  const auto graph = driver().graphs.get(handle);
  const std::size_t all = graph->nodes.size();
  if (!nodes) {
    checked(count) = all;
    return;
  }
  const std::size_t room = checked(count);
  for (std::size_t i = 0; i < room; ++i) nodes[i] = i < all ? graph->nodes[i].handle : nullptr;
  *count = std::min(room, all);
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_STREAM_API(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
               require(mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
               captures().begin(stream_of(stream), mode))
SWD_STREAM_API(cuStreamBeginCaptureToGraph,
               (CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData*,
                std::size_t count, CUstreamCaptureMode mode),
               begin_to_graph(stream, graph, dependencies, count, mode))
SWD_STREAM_API(cuStreamEndCapture, (CUstream stream, CUgraph* graph), checked(graph) = nullptr;
               *graph = captures().end(*stream_of(stream))->handle)
SWD_STREAM_API(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* status),
               checked(status) = captures().status(*stream_of(stream)))
SWD_STREAM_API(cuStreamGetCaptureInfo_v2,
               (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                const CUgraphNode** dependencies, std::size_t* count),
               capture_info(stream, status, id, graph, dependencies, count))
SWD_STREAM_API(cuStreamGetCaptureInfo_v3,
               (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* count),
               if (edges) * edges = nullptr;
               capture_info(stream, status, id, graph, dependencies, count))

SWD_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode)) {
  return call(EntryPoint::cuThreadExchangeStreamCaptureMode, [&] {
    require(checked(mode) <= CU_STREAM_CAPTURE_MODE_RELAXED);
    *mode = exchange_thread_mode(*mode);
  });
}

SWD_API(cuGraphCreate, (CUgraph * out, unsigned flags)) {
  return call(EntryPoint::cuGraphCreate, [&] {
    require(flags == 0);
    CUgraph& handle = checked(out);
    const auto graph = std::make_shared<Graph>();
    handle = graph->handle = driver().graphs.insert(graph);
  });
}

SWD_API(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, unsigned long long flags)) {
  return call(EntryPoint::cuGraphInstantiateWithFlags, [&] { checked(out) = instantiate(graph, flags); });
}

SWD_API(cuGraphInstantiateWithParams,
        (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters)) {
  return call(EntryPoint::cuGraphInstantiateWithParams, [&] { instantiate(out, graph, parameters); });
}

SWD_API(cuGraphInstantiateWithParams_ptsz,
        (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters)) {
  return call(EntryPoint::cuGraphInstantiateWithParams, [&] { instantiate(out, graph, parameters); });
}

SWD_API(cuGraphGetNodes, (CUgraph graph, CUgraphNode* nodes, std::size_t* count)) {
  return call(EntryPoint::cuGraphGetNodes, [&] { nodes_of(graph, nodes, count); });
}

SWD_STREAM_API(cuGraphUpload, (CUgraphExec executable, CUstream stream), driver().executables.get(executable);
               stream_of(stream))
SWD_STREAM_API(cuGraphLaunch, (CUgraphExec executable, CUstream stream), launch(executable, stream))

SWD_API(cuGraphExecDestroy, (CUgraphExec executable)) {
  return call(EntryPoint::cuGraphExecDestroy, [&] { driver().executables.remove(executable); });
}

SWD_API(cuGraphDestroy, (CUgraph graph)) {
  return call(EntryPoint::cuGraphDestroy, [&] { driver().graphs.remove(graph); });
}
