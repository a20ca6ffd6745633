#pragma once

#include "trace/flat_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::runtime_test {

/// An iteration told in program order, from which a flat plan is made:
///
///   PlanStory story(kChunk);
///   const int weight = story.persistent(4 * kChunk);
///   const int out = story.allocate(2 * kChunk);
///   story.operation(kForward, {weight, out});
///   story.leave(out);
///   ...
///   FlatPlan plan = story.plan();
///
/// Every piece gets the lowest plan chunk that nobody else uses at any time at which the piece is on the
/// card.
class PlanStory {
 public:
  struct Event {
    enum class Kind { kAllocate, kFree, kOperation, kLeave, kReturn };
    Kind kind = Kind::kOperation;
    int tensor = -1;
    std::uint64_t signature = 0;
    std::vector<int> names;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct Tensor {
    std::int64_t bytes = 0;
    bool persistent = false;
    std::uint32_t ordinal = 0;
    std::uint32_t addresses = 1;
    std::uint32_t pieces = 0;
  };

  explicit PlanStory(std::uint64_t chunk) : chunk_(chunk) {}

  int persistent(std::int64_t bytes);
  int allocate(std::int64_t bytes);
  /// A tensor freed before it is allocated in the story was allocated in the iteration before.
  void free(int tensor);
  void operation(std::uint64_t signature, std::vector<int> names);
  /// After the operation before, and before the operation after. Count 0: all pieces from `first` on.
  void leave(int tensor, std::uint32_t first = 0, std::uint32_t count = 0);
  void come_back(int tensor, std::uint32_t first = 0, std::uint32_t count = 0);
  /// The tensor has so many addresses in rotation, because that many instances are alive at once.
  void rotate(int tensor, std::uint32_t addresses) { at(tensor).addresses = addresses; }

  const std::vector<Event>& events() const { return events_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::uint32_t operations() const { return operations_; }
  std::uint64_t chunk() const { return chunk_; }

  /// The plan, with `spare` chunks of budget beside what it places. Throws std::logic_error where the story
  /// makes no plan.
  trace::FlatPlan plan(std::uint32_t spare = 0) const;

 private:
  Tensor& at(int tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  int add(std::int64_t bytes, bool persistent);
  void move(Event::Kind kind, int tensor, std::uint32_t first, std::uint32_t count);
  std::vector<bool> presence(std::size_t tensor, std::uint32_t piece) const;
  void place(trace::FlatPlan& plan) const;

  std::uint64_t chunk_;
  std::vector<Tensor> tensors_;
  std::vector<Event> events_;
  std::uint32_t operations_ = 0;
};

/// Writes a plan as the launcher does: beside, then renamed. False, with the reason, when that fails.
bool write_plan(const std::string& path, const trace::FlatPlan& plan, std::string& error);

}  // namespace tferry::runtime_test
