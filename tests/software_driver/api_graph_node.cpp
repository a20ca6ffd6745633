#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/memory_operations.hpp"

#include <algorithm>
#include <utility>

namespace tferry::software_driver {
namespace {

/// A copy of the node behind a handle, whose details stay valid as long as a graph holds it.
GraphNode node_of(CUgraphNode handle) {
  const auto holds = [&](const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [&](const auto& n) { return n.handle == handle; });
  };
  const auto graphs = captures().exclusively([&] { return driver().graphs.select(holds); });
  require(!graphs.empty());
  return graphs.front()->nodes[index_of(*graphs.front(), handle)];
}

GraphNode node_of_kind(CUgraphNode handle, CUgraphNodeType kind) {
  GraphNode node = node_of(handle);
  require(node.work.kind == kind);
  return node;
}

void add_node(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* dependencies, std::size_t count,
              Work work) {
  require(count == 0 || dependencies);
  const auto graph = driver().graphs.get(graph_handle);
  GraphNode node;
  node.work = std::move(work);
  node.handle = std::bit_cast<CUgraphNode>(next_handle_value());
  for (std::size_t i = 0; i < count; ++i) node.after.insert(index_of(*graph, dependencies[i]));
  checked(out) = node.handle;
  graph->nodes.push_back(std::move(node));
}

Work kernel_of(const CUDA_KERNEL_NODE_PARAMS& node) {
  const auto handle = node.func ? node.func : reinterpret_cast<CUfunction>(node.kern);
  const auto function = driver().functions.find(handle);
  auto code = function ? function->code : driver().kernels.get(reinterpret_cast<CUkernel>(handle))->code;
  const LaunchShape shape{{node.gridDimX, node.gridDimY, node.gridDimZ},
                          {node.blockDimX, node.blockDimY, node.blockDimZ},
                          node.sharedMemBytes};
  return launch_work(handle, std::move(code), shape, current_context()->device().ordinal, node.kernelParams,
                     node.extra);
}

Work set_of(const CUDA_MEMSET_NODE_PARAMS& node) {
  require(node.elementSize == 1 || node.elementSize == 2 || node.elementSize == 4);
  return set_work(Box{node.dst, node.pitch, 0}, node.value, node.elementSize, {node.width, node.height, 1});
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType* type)) {
  return call(EntryPoint::cuGraphNodeGetType, [&] { checked(type) = node_of(node).work.kind; });
}

SWD_API(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params)) {
  return call(EntryPoint::cuGraphKernelNodeGetParams_v2, [&] {
    CUDA_KERNEL_NODE_PARAMS& out = checked(params);
    out = node_of_kind(node, CU_GRAPH_NODE_TYPE_KERNEL).work.details->kernel;
    if (driver().functions.find(out.func)) return;
    out.kern = reinterpret_cast<CUkernel>(std::exchange(out.func, nullptr));
  });
}

SWD_API(cuGraphMemcpyNodeGetParams, (CUgraphNode node, CUDA_MEMCPY3D* params)) {
  return call(EntryPoint::cuGraphMemcpyNodeGetParams, [&] {
    const auto details = node_of_kind(node, CU_GRAPH_NODE_TYPE_MEMCPY).work.details;
    checked(params) = details ? details->copy : CUDA_MEMCPY3D{};
  });
}

SWD_API(cuGraphMemsetNodeGetParams, (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params)) {
  return call(EntryPoint::cuGraphMemsetNodeGetParams, [&] {
    const auto details = node_of_kind(node, CU_GRAPH_NODE_TYPE_MEMSET).work.details;
    checked(params) = details ? details->set : CUDA_MEMSET_NODE_PARAMS{};
  });
}

SWD_API(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph* graph)) {
  return call(EntryPoint::cuGraphChildGraphNodeGetGraph,
              [&] { checked(graph) = node_of_kind(node, CU_GRAPH_NODE_TYPE_GRAPH).child->graph->handle; });
}

SWD_API(cuGraphAddKernelNode_v2, (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies,
                                  std::size_t count, const CUDA_KERNEL_NODE_PARAMS* params)) {
  return call(EntryPoint::cuGraphAddKernelNode_v2,
              [&] { add_node(out, graph, dependencies, count, kernel_of(checked(params))); });
}

SWD_API(cuGraphAddMemcpyNode, (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies,
                               std::size_t count, const CUDA_MEMCPY3D* params, CUcontext)) {
  return call(EntryPoint::cuGraphAddMemcpyNode,
              [&] { add_node(out, graph, dependencies, count, spatial_copy(checked(params))); });
}

SWD_API(cuGraphAddMemsetNode, (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies,
                               std::size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext)) {
  return call(EntryPoint::cuGraphAddMemsetNode,
              [&] { add_node(out, graph, dependencies, count, set_of(checked(params))); });
}

SWD_API(cuGraphAddEmptyNode,
        (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count)) {
  return call(EntryPoint::cuGraphAddEmptyNode, [&] { add_node(out, graph, dependencies, count, Work{}); });
}
