#pragma once

#include "tests/software_driver/allocation.hpp"
#include "tests/software_driver/event.hpp"
#include "tests/software_driver/work.hpp"

#include <cuda.h>

#include <memory>
#include <set>
#include <vector>

namespace tferry::software_driver {

struct Graph;

/// A graph inside a node of another. Its handle is known as long as the node, or a copy of it, lives.
struct ChildGraph {
  explicit ChildGraph(const Graph& original);
  ~ChildGraph();
  ChildGraph(const ChildGraph&) = delete;
  ChildGraph& operator=(const ChildGraph&) = delete;

  std::shared_ptr<Graph> graph;
};

/// One recorded piece of work. Nodes stand in the order of recording, which is one that their dependencies
/// allow, and are replayed in it.
struct GraphNode {
  CUgraphNode handle = nullptr;
  Work work;
  std::set<std::size_t> after;
  std::shared_ptr<Event> records;  ///< recorded at replay (CU_EVENT_RECORD_EXTERNAL)
  std::shared_ptr<const ChildGraph> child;
};

/// Memory that a graph's allocation nodes own; freed with the last graph or executable that holds it.
struct GraphMemory {
  ~GraphMemory();
  std::vector<Address> bases;
};

/// Behind a CUgraph and a CUgraphExec: the latter is a copy. Guarded by the capture registry while it is
/// captured into, unchanged afterwards.
struct Graph {
  CUgraph handle = nullptr;
  std::vector<GraphNode> nodes;
  std::shared_ptr<GraphMemory> memory = std::make_shared<GraphMemory>();
};

/// Index of a node in a graph; throws CUDA_ERROR_INVALID_VALUE.
std::size_t index_of(const Graph& graph, CUgraphNode node);

struct GraphExec {
  std::shared_ptr<const Graph> graph;
  unsigned long long flags = 0;
};

/// A copy of recorded work that can be put into a stream again.
Work replayed(const Work& recorded);

}  // namespace tferry::software_driver
