#include "tests/software_driver/graph.hpp"

#include "tests/software_driver/driver.hpp"

#include <algorithm>
#include <bit>

namespace tferry::software_driver {

GraphMemory::~GraphMemory() {
  for (const Address base : bases) driver().allocations.remove(base);
}

ChildGraph::ChildGraph(const Graph& original) : graph(std::make_shared<Graph>(original)) {
  for (GraphNode& node : graph->nodes) node.handle = std::bit_cast<CUgraphNode>(next_handle_value());
  graph->handle = driver().graphs.insert(graph);
}

ChildGraph::~ChildGraph() {
  if (driver().graphs.find(graph->handle)) driver().graphs.remove(graph->handle);
}

std::size_t index_of(const Graph& graph, CUgraphNode node) {
  const auto at = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                               [&](const auto& known) { return known.handle == node; });
  require(at != graph.nodes.end());
  return static_cast<std::size_t>(at - graph.nodes.begin());
}

Work replayed(const Work& recorded) {
  Work work = recorded;
  work.after.clear();
  work.done = std::make_shared<Completion>();
  return work;
}

}  // namespace tferry::software_driver
