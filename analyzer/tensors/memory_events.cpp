#include "analyzer/tensors/memory_events.hpp"

#include <algorithm>
#include <limits>

namespace tferry::analyzer {
namespace {

/// An event, and when it happened after the operation before it was called.
struct TimedEvent {
  MemoryEvent event;
  std::int64_t after_ns = 0;
};

class ProgramOrder {
 public:
  ProgramOrder(const Recording& recording, std::size_t length) : recording_(recording), length_(length) {}

  void add(const MatchedTensor& matched, std::uint32_t tensor) {
    const RecordedAllocation& model = recording_.allocations[matched.allocations[matched.model]];
    const auto count = static_cast<std::uint32_t>(length_);
    events_.push_back({{matched.tensor.birth, tensor, false}, since_operation(model.alloc_ns)});
    // What no operation saw is kept for the one after its birth: its free comes first thing then.
    std::int64_t freed_after = std::numeric_limits<std::int64_t>::min();
    if (model.free_ns && next_operation(*model.free_ns) > next_operation(model.alloc_ns))
      freed_after = since_operation(*model.free_ns);
    events_.push_back({{(matched.tensor.death + 1) % count, tensor, true}, freed_after});
  }

  std::vector<MemoryEvent> sorted() {
    std::stable_sort(events_.begin(), events_.end(), [](const TimedEvent& a, const TimedEvent& b) {
      if (a.event.position != b.event.position) return a.event.position < b.event.position;
      if (a.after_ns != b.after_ns) return a.after_ns < b.after_ns;
      return a.event.frees && !b.event.frees;
    });
    std::vector<MemoryEvent> events;
    for (const TimedEvent& timed : events_) events.push_back(timed.event);
    return events;
  }

 private:
  std::size_t next_operation(std::int64_t time_ns) const {
    const auto& all = recording_.operations;
    return static_cast<std::size_t>(
        std::lower_bound(all.begin(), all.end(), time_ns,
                         [](const RecordedOperation& o, std::int64_t time) { return o.call_ns < time; }) -
        all.begin());
  }

  std::int64_t since_operation(std::int64_t time_ns) const {
    const std::size_t next = next_operation(time_ns);
    return next == 0 ? 0 : time_ns - recording_.operations[next - 1].call_ns;
  }

  const Recording& recording_;
  std::size_t length_;
  std::vector<TimedEvent> events_;
};

/// Whether [begin, begin + period.size()) of the recording repeats these signatures.
bool repeats(const Recording& recording, std::size_t begin, const std::vector<std::uint32_t>& signatures) {
  if (begin + signatures.size() > recording.operations.size()) return false;
  for (std::size_t k = 0; k < signatures.size(); ++k) {
    if (recording.operations[begin + k].signature != signatures[k]) return false;
  }
  return true;
}

}  // namespace

std::vector<MemoryEvent> memory_events(const Recording& recording, const std::vector<IterationSpan>& spans,
                                       const RecordedIteration& typical) {
  ProgramOrder order(recording, spans[typical.regular.front()].size());
  for (std::size_t t = 0; t < typical.tensors.size(); ++t) {
    if (!typical.tensors[t].tensor.persistent) order.add(typical.tensors[t], static_cast<std::uint32_t>(t));
  }
  return order.sorted();
}

Iterations move_boundary(const Recording& recording, const Iterations& iterations,
                         const RecordedIteration& typical) {
  Workload passing;  // what is made anew in every iteration
  passing.operations.resize(typical.workload.operations.size());
  for (const MatchedTensor& matched : typical.tensors) {
    if (!matched.tensor.persistent) passing.tensors.push_back(matched.tensor);
  }
  std::vector<std::int64_t> crossing = allocated_bytes(passing);  // by operation: bytes that outlive it
  for (const Tensor& tensor : passing.tensors) crossing[tensor.death] -= tensor.size;
  const auto least = std::min_element(crossing.begin(), crossing.end());
  if (*least == crossing.back()) return iterations;
  const auto shift = static_cast<std::size_t>(least - crossing.begin()) + 1;

  const IterationSpan& model = iterations.spans[typical.regular.front()];
  std::vector<std::uint32_t> signatures;
  for (std::size_t k = 0; k < model.size(); ++k) {
    const std::size_t at = model.begin + (shift + k) % model.size();
    signatures.push_back(recording.operations[at].signature);
  }
  Iterations moved = iterations;
  moved.spans.clear();
  std::size_t end = 0;
  for (const std::uint32_t i : typical.regular) {
    // The operations before an iteration may be the rest of one that began too early to be found.
    const std::size_t begin = iterations.spans[i].begin + shift;
    for (const std::size_t at : {begin - model.size(), begin}) {
      if (at > begin || at < end || !repeats(recording, at, signatures)) continue;
      moved.spans.push_back({at, end = at + model.size()});
    }
  }
  return moved.spans.size() < 2 ? iterations : moved;
}

}  // namespace tferry::analyzer
