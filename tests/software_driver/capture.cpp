#include "tests/software_driver/capture.hpp"

#include "tests/software_driver/context.hpp"
#include "tests/software_driver/driver.hpp"

#include <utility>

namespace tferry::software_driver {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// Whether the tail depends on every node from `first` on.
bool all_joined(const Graph& graph, std::size_t first, const std::set<std::size_t>& tail) {
  std::set<std::size_t> reached;
  std::vector<std::size_t> open(tail.begin(), tail.end());
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), graph.nodes[node].after.begin(), graph.nodes[node].after.end());
  }
  for (std::size_t node = first; node < graph.nodes.size(); ++node) {
    if (!reached.contains(node)) return false;
  }
  return true;
}

}  // namespace

CaptureRegistry& captures() { return driver().captures; }

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) noexcept {
  return std::exchange(thread_mode, mode);
}

void CaptureRegistry::begin(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode) {
  auto graph = std::make_shared<Graph>();
  graph->handle = driver().graphs.insert(graph);
  try {
    begin_into(stream, mode, graph, {});
  } catch (const DriverError&) {
    driver().graphs.remove(graph->handle);
    throw;
  }
  const std::lock_guard lock(mutex_);
  stream->capture->given_graph = false;
}

void CaptureRegistry::begin_into(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode,
                                 std::shared_ptr<Graph> graph, const std::set<std::size_t>& after) {
  require(stream->kind() != Stream::Kind::kLegacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const std::lock_guard lock(mutex_);
  require(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++last_id_;
  capture->origin = stream.get();
  capture->streams.insert(stream);
  capture->first_node = graph->nodes.size();
  capture->given_graph = true;
  capture->graph = std::move(graph);
  stream->capture = capture;
  stream->capture_tail = after;
  captures_.insert(std::move(capture));
  ++active_;
}

std::shared_ptr<Graph> CaptureRegistry::end(Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto capture = stream.capture;
  require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  require(capture->origin == &stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  require(capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->thread == std::this_thread::get_id(),
          CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool joined = all_joined(*capture->graph, capture->first_node, stream.capture_tail);
  for (const auto& member : capture->streams) {
    member->capture = nullptr;
    member->capture_tail.clear();
  }
  captures_.erase(capture);
  --active_;
  const auto graph = capture->graph;
  if (!capture->valid || !joined) {
    if (!capture->given_graph) driver().graphs.remove(graph->handle);
    throw DriverError(capture->valid ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                     : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  return graph;
}

std::size_t CaptureRegistry::append(Stream& stream, GraphNode node) {
  Graph& graph = *stream.capture->graph;
  node.handle = std::bit_cast<CUgraphNode>(next_handle_value());
  node.after = stream.capture_tail;
  graph.nodes.push_back(std::move(node));
  stream.capture_tail = {graph.nodes.size() - 1};
  return graph.nodes.size() - 1;
}

bool CaptureRegistry::record(Stream& stream, Work& work) {
  if (active_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  if (stream.capture) {
    require(stream.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    GraphNode node;
    node.work = std::move(work);
    append(stream, std::move(node));
    return true;
  }
  if (stream.kind() != Stream::Kind::kLegacy) return false;
  bool conflict = false;
  for (const auto& capture : captures_) {
    for (const auto& member : capture->streams) {
      if (member->kind() != Stream::Kind::kBlocking || member->context() != stream.context()) continue;
      invalidate(*capture);
      conflict = true;
    }
  }
  require(!conflict, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  return false;
}

bool CaptureRegistry::record_graph(Stream& stream, const Graph& graph) {
  if (active_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  if (!stream.capture) return false;
  require(stream.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  GraphNode node;
  node.work.kind = CU_GRAPH_NODE_TYPE_GRAPH;
  node.child = std::make_shared<ChildGraph>(graph);
  append(stream, std::move(node));
  return true;
}

void CaptureRegistry::forbid_unsafe_call() {
  if (active_.load() == 0 || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  const std::lock_guard lock(mutex_);
  bool forbidden = false;
  for (const auto& capture : captures_) {
    const bool own =
        capture->thread == std::this_thread::get_id() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool foreign =
        thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !foreign) continue;
    invalidate(*capture);
    forbidden = true;
  }
  require(!forbidden, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void CaptureRegistry::forbid_capturing(const Stream& stream) {
  if (active_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  if (!stream.capture) return;
  invalidate(*stream.capture);
  throw DriverError(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void CaptureRegistry::forbid_captured(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (!event.capture) return;
  invalidate(*event.capture);
  throw DriverError(CUDA_ERROR_CAPTURED_EVENT);
}

void CaptureRegistry::abandon(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (stream.capture) invalidate(*stream.capture);
}

bool CaptureRegistry::record_event(Stream& stream, const std::shared_ptr<Event>& event, bool external) {
  const std::lock_guard lock(mutex_);
  if (!stream.capture) {
    event->capture = nullptr;
    event->capture_nodes.clear();
    return false;
  }
  require(stream.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (external) {
    GraphNode node;
    node.work.kind = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    node.records = event;
    append(stream, std::move(node));
  } else {
    event->capture = stream.capture;
    event->capture_nodes = stream.capture_tail;
  }
  return true;
}

bool CaptureRegistry::wait_event(const std::shared_ptr<Stream>& stream, const Event& event, bool external) {
  const std::lock_guard lock(mutex_);
  const auto from = event.capture;
  const auto into = stream->capture;
  if (!from && !into) return false;
  if (into) require(into->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (!from) {
    const auto recorded = event.last();
    if (!recorded) return true;
    if (external) {
      GraphNode node;
      node.work.kind = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
      append(*stream, std::move(node));
      return true;
    }
    invalidate(*into);
    throw DriverError(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  require(captures_.contains(from), CUDA_ERROR_CAPTURED_EVENT);
  require(from->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (!into) {
    if (stream->kind() == Stream::Kind::kLegacy) {
      invalidate(*from);
      throw DriverError(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    stream->capture = from;
    stream->capture_tail = event.capture_nodes;
    from->streams.insert(stream);
    return true;
  }
  if (into != from) {
    invalidate(*into);
    invalidate(*from);
    throw DriverError(CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  stream->capture_tail.insert(event.capture_nodes.begin(), event.capture_nodes.end());
  return true;
}

std::shared_ptr<Capture> CaptureRegistry::of(const Stream& stream) const {
  if (active_.load() == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  return stream.capture;
}

CUstreamCaptureStatus CaptureRegistry::status(const Stream& stream) const {
  if (active_.load() == 0) return CU_STREAM_CAPTURE_STATUS_NONE;
  const std::lock_guard lock(mutex_);
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

}  // namespace tferry::software_driver
