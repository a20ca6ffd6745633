#pragma once

#include "tests/software_driver/event.hpp"
#include "tests/software_driver/graph.hpp"
#include "tests/software_driver/stream.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tferry::software_driver {

/// One capture sequence. Guarded by its registry.
class Capture {
 public:
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  std::uint64_t id = 0;
  const Stream* origin = nullptr;
  std::set<std::shared_ptr<Stream>> streams;
  std::shared_ptr<Graph> graph;
  std::size_t first_node = 0;  ///< nodes before it were in the graph already
  bool given_graph = false;    ///< captured into a graph of the program's
  bool valid = true;
  std::vector<CUgraphNode> told_dependencies;  ///< what cuStreamGetCaptureInfo pointed to last
};

/// All captures of the process, and the rules between captures and other calls as the driver's reference
/// manual gives them under cuStreamBeginCapture and cuThreadExchangeStreamCaptureMode. Calls that a capture
/// forbids throw, and make it invalid. Thread-safe.
class CaptureRegistry {
 public:
  void begin(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode);
  /// Into a graph of the program's, after some of its nodes.
  void begin_into(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode,
                  std::shared_ptr<Graph> graph, const std::set<std::size_t>& after);
  std::shared_ptr<Graph> end(Stream& stream);

  /// Takes the work into the stream's capture, if it has one. Work of a legacy stream throws, and ends the
  /// captures of blocking streams of its context.
  bool record(Stream& stream, Work& work);
  /// The same for a graph launched while capturing.
  bool record_graph(Stream& stream, const Graph& graph);

  /// For calls that are potentially unsafe, by the calling thread's mode.
  void forbid_unsafe_call();
  /// For calls that wait for or ask about this stream.
  void forbid_capturing(const Stream& stream);
  /// The same for an event: CUDA_ERROR_CAPTURED_EVENT.
  void forbid_captured(const Event& event);
  /// Ends the capture, if there is one, as destroying the stream does.
  void abandon(const Stream& stream);

  /// True when the record became part of a capture. Otherwise the event is marked as recorded outside.
  bool record_event(Stream& stream, const std::shared_ptr<Event>& event, bool external);
  /// True when the wait became part of a capture, which the stream may thereby have joined.
  bool wait_event(const std::shared_ptr<Stream>& stream, const Event& event, bool external);

  /// Null when the stream is not capturing.
  std::shared_ptr<Capture> of(const Stream& stream) const;
  CUstreamCaptureStatus status(const Stream& stream) const;
  /// Runs `use(capture, tail)` under the lock; false when the stream is not capturing.
  template <class Use>
  bool with(Stream& stream, Use use) {
    const std::lock_guard lock(mutex_);
    if (!stream.capture) return false;
    use(*stream.capture, stream.capture_tail);
    return true;
  }

  /// Runs `use` while no graph can be captured into, for who looks at graphs of other threads.
  template <class Use>
  auto exclusively(Use use) {
    const std::lock_guard lock(mutex_);
    return use();
  }

 private:
  void invalidate(Capture& capture) { capture.valid = false; }
  std::size_t append(Stream& stream, GraphNode node);

  mutable std::mutex mutex_;
  std::atomic<int> active_{0};
  std::set<std::shared_ptr<Capture>> captures_;
  std::uint64_t last_id_ = 0;
};

CaptureRegistry& captures();

/// Sets the calling thread's mode and gives the one it had.
CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) noexcept;

}  // namespace tferry::software_driver
