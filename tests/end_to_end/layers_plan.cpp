#include "tests/end_to_end/layers_plan.hpp"

#include "samples/layers/schedule.hpp"
#include "tests/runtime/plan_story.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace tferry::end_to_end {
namespace {

using runtime_test::PlanStory;
using samples::Affine;
using samples::BufferId;
using samples::Combine;
using samples::EventId;
using samples::Part;
using samples::StreamId;
using samples::Sums;
using trace::OperationSignature;

struct Event {
  enum class Kind { kAllocate, kFree, kOperation };
  Kind kind;
  BufferId buffer = -1;
  std::uint64_t signature = 0;
  std::vector<BufferId> names;
};

/// Writes down what samples/driver/layers.cpp asks the driver for.
class Writer final : public samples::Machine {
 public:
  BufferId allocate(const std::string&, std::uint64_t count) override {
    sizes.push_back(static_cast<std::int64_t>(count * 8));
    events.push_back({Event::Kind::kAllocate, static_cast<BufferId>(sizes.size()) - 1, 0, {}});
    return events.back().buffer;
  }
  void release(BufferId buffer) override { events.push_back({Event::Kind::kFree, buffer, 0, {}}); }
  void fill(StreamId, BufferId buffer, Affine) override { launch("layers_fill", count(buffer), {buffer}); }
  void combine(StreamId, const Combine& step) override {
    launch("layers_combine", count(step.out), {step.in, step.weight, step.bias, step.out});
  }
  void upload(StreamId, Part part, Affine) override {
    operation(OperationSignature::copy(part_bytes(part)), {part.buffer});
  }
  void copy(StreamId, Part from, Part to) override {
    operation(OperationSignature::copy(part_bytes(to)), {to.buffer, from.buffer});
  }
  void clear(StreamId, Part part, std::uint8_t) override {
    operation(OperationSignature::memset(part_bytes(part)), {part.buffer});
  }
  void upload_table(const std::vector<BufferId>&) override {}
  void update_by_table(StreamId, std::uint64_t, std::uint64_t) override {
    launch("layers_update_by_table", 256, {});
  }
  void record(EventId, StreamId) override {}
  void wait(StreamId, EventId) override {}
  void synchronize() override {}
  Sums sums(StreamId, BufferId buffer) override {
    launch("layers_sums", count(buffer), {buffer});
    operation(OperationSignature::copy(sizeof(Sums)), {});
    ends.push_back(events.size());
    return {};
  }
  std::vector<std::uint64_t> read(BufferId, std::uint64_t, std::uint64_t words) override {
    return std::vector<std::uint64_t>(words);
  }

  std::vector<std::int64_t> sizes;  ///< by buffer
  std::vector<Event> events;
  std::vector<std::size_t> ends;  ///< events up to the end of each iteration

 private:
  std::uint64_t count(BufferId buffer) const {
    return static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(buffer)]) / 8;
  }
  std::int64_t part_bytes(Part part) const {
    return static_cast<std::int64_t>(count(part.buffer) / samples::kParts * 8);
  }
  void launch(const char* kernel, std::uint64_t words, std::vector<BufferId> names) {
    const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>((words + 255) / 256, 8192));
    operation(OperationSignature::launch(kernel, {blocks, 1, 1}, {256, 1, 1}), std::move(names));
  }
  void operation(std::uint64_t signature, std::vector<BufferId> names) {
    std::vector<BufferId> once;
    for (const BufferId name : names) {
      if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(name);
    }
    events.push_back({Event::Kind::kOperation, -1, signature, std::move(once)});
  }
};

/// The second iteration, told with what moves.
class Teller {
 public:
  Teller(const Writer& writer, const samples::LayersOptions& sample, const LayersPlanOptions& options)
      : writer_(writer), options_(options), story_(options.chunk), hidden_(sample.hidden) {
    begin_ = writer.ends[0];
    end_ = writer.ends[1];
  }

  PlanStory tell() {
    find_uses();
    for (std::size_t i = 0; i < begin_; ++i) {
      const Event& event = writer_.events[i];
      if (event.kind == Event::Kind::kAllocate && uses_.contains(event.buffer) && large(event.buffer))
        tensors_[event.buffer] = story_.persistent(size(event.buffer));
    }
    std::size_t position = 0;
    for (std::size_t i = begin_; i < end_; ++i) {
      const Event& event = writer_.events[i];
      if (event.kind == Event::Kind::kAllocate && large(event.buffer)) {
        tensors_[event.buffer] = story_.allocate(size(event.buffer));
      } else if (event.kind == Event::Kind::kFree && tensors_.contains(event.buffer)) {
        // What the last iteration left is freed now; its own last buffer takes its place then.
        if (freed_here(event.buffer)) story_.free(tensors_[event.buffer]);
      } else if (event.kind == Event::Kind::kOperation) {
        tell_operation(event, position++);
      }
    }
    return std::move(story_);
  }

 private:
  std::int64_t size(BufferId buffer) const { return writer_.sizes[static_cast<std::size_t>(buffer)]; }
  bool large(BufferId buffer) const { return size(buffer) > static_cast<std::int64_t>(options_.chunk / 2); }
  bool freed_here(BufferId buffer) const {
    for (std::size_t i = begin_; i < end_; ++i) {
      if (writer_.events[i].kind == Event::Kind::kAllocate && writer_.events[i].buffer == buffer) return true;
    }
    return false;
  }

  /// Positions at which each buffer is named in the iteration.
  void find_uses() {
    std::size_t position = 0;
    for (std::size_t i = begin_; i < end_; ++i) {
      if (writer_.events[i].kind != Event::Kind::kOperation) continue;
      for (const BufferId name : writer_.events[i].names) uses_[name].push_back(position);
      ++position;
    }
  }

  void tell_operation(const Event& event, std::size_t position) {
    for (const auto& [buffer, tensor] : tensors_) {
      const auto& uses = uses_[buffer];
      for (std::size_t k = 1; k < uses.size(); ++k) {
        if (moves(buffer, uses[k - 1], uses[k]) && uses[k] == position + options_.ahead)
          story_.come_back(tensor);
      }
    }
    std::vector<int> names;
    for (const BufferId name : event.names) {
      if (tensors_.contains(name)) names.push_back(tensors_[name]);
    }
    story_.operation(event.signature, names);
    for (const BufferId name : event.names) {
      const auto next = std::upper_bound(uses_[name].begin(), uses_[name].end(), position);
      if (tensors_.contains(name) && next != uses_[name].end() && moves(name, position, *next))
        story_.leave(tensors_[name]);
    }
  }

  /// Weights in the table are reached unseen and stay; they are the first ones made.
  bool moves(BufferId buffer, std::size_t use, std::size_t next) const {
    const bool in_table = buffer < 2 * hidden_;  // weights and biases are made by turns
    return !in_table && next - use >= options_.least_gap;
  }

  const Writer& writer_;
  const LayersPlanOptions& options_;
  PlanStory story_;
  BufferId hidden_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::map<BufferId, int> tensors_;
  std::map<BufferId, std::vector<std::size_t>> uses_;
};

}  // namespace

trace::FlatPlan layers_plan(const samples::LayersOptions& sample, const LayersPlanOptions& options) {
  samples::LayersOptions twice = sample;
  twice.iterations = 3;
  Writer writer;
  samples::run_layers(twice, writer, [](int, const Sums&, std::int64_t) {});
  return Teller(writer, sample, options).tell().plan(options.spare);
}

}  // namespace tferry::end_to_end
