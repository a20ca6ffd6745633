#include "tests/runtime/plan_story.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>

namespace tferry::runtime_test {

using trace::FlatPlan;
using Kind = PlanStory::Event::Kind;

int PlanStory::add(std::int64_t bytes, bool persistent) {
  Tensor tensor;
  tensor.bytes = bytes;
  tensor.persistent = persistent;
  tensor.pieces = static_cast<std::uint32_t>((static_cast<std::uint64_t>(bytes) + chunk_ - 1) / chunk_);
  tensors_.push_back(tensor);
  return static_cast<int>(tensors_.size() - 1);
}

int PlanStory::persistent(std::int64_t bytes) { return add(bytes, true); }

int PlanStory::allocate(std::int64_t bytes) {
  const int tensor = add(bytes, false);
  at(tensor).ordinal =
      static_cast<std::uint32_t>(std::count_if(events_.begin(), events_.end(), [&](const Event& event) {
        return event.kind == Kind::kAllocate && at(event.tensor).bytes == bytes;
      }));
  events_.push_back({Kind::kAllocate, tensor, 0, {}, 0, 0});
  return tensor;
}

void PlanStory::free(int tensor) { events_.push_back({Kind::kFree, tensor, 0, {}, 0, 0}); }

void PlanStory::operation(std::uint64_t signature, std::vector<int> names) {
  events_.push_back({Kind::kOperation, -1, signature, std::move(names), 0, 0});
  ++operations_;
}

void PlanStory::leave(int tensor, std::uint32_t first, std::uint32_t count) {
  move(Kind::kLeave, tensor, first, count);
}

void PlanStory::come_back(int tensor, std::uint32_t first, std::uint32_t count) {
  move(Kind::kReturn, tensor, first, count);
}

void PlanStory::move(Kind kind, int tensor, std::uint32_t first, std::uint32_t count) {
  if (count == 0) count = at(tensor).pieces - first;
  events_.push_back({kind, tensor, 0, {}, first, count});
}

FlatPlan PlanStory::plan(std::uint32_t spare) const {
  FlatPlan plan;
  plan.chunk_bytes = chunk_;
  plan.name = "a story";
  for (const Event& event : events_) {
    const auto position = static_cast<std::uint32_t>(plan.operations.size());
    const auto tensor = static_cast<std::uint32_t>(event.tensor);
    switch (event.kind) {
      case Kind::kOperation:
        plan.operations.push_back({event.signature, static_cast<std::uint32_t>(plan.names.size()),
                                   static_cast<std::uint32_t>(event.names.size())});
        plan.names.insert(plan.names.end(), event.names.begin(), event.names.end());
        break;
      case Kind::kLeave:
        if (position == 0) throw std::logic_error("a leave before the first operation");
        plan.leaves.push_back({position - 1, tensor, event.first, event.count});
        break;
      case Kind::kReturn:
        if (position == operations_) throw std::logic_error("a return after the last operation");
        plan.returns.push_back({position, tensor, event.first, event.count});
        break;
      default:
        break;
    }
  }
  place(plan);
  plan.budget_bytes = (std::uint64_t{plan.chunk_count} + spare) * chunk_;
  if (const std::string error = trace::flat_plan_error(plan); !error.empty()) throw std::logic_error(error);
  return plan;
}

/// By event: whether the piece is on the card from there on.
std::vector<bool> PlanStory::presence(std::size_t tensor, std::uint32_t piece) const {
  std::vector<bool> present(events_.size(), true);
  const bool always = tensors_[tensor].addresses > 1;
  bool here = tensors_[tensor].persistent;
  // Twice around: what was before the first event is known from the last one.
  for (std::size_t i = 0; i < 2 * events_.size() && !always; ++i) {
    const Event& event = events_[i % events_.size()];
    const bool moves = piece >= event.first && piece - event.first < event.count;
    bool after = here;
    if (event.tensor == static_cast<int>(tensor)) {
      if (event.kind == Kind::kAllocate || (event.kind == Kind::kReturn && moves)) after = true;
      if (event.kind == Kind::kFree || (event.kind == Kind::kLeave && moves)) after = false;
    }
    present[i % events_.size()] = here || after;  // at the event itself, too
    here = after;
  }
  return present;
}

void PlanStory::place(FlatPlan& plan) const {
  std::vector<std::vector<bool>> used;  // by plan chunk and event
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    plan.tensors.push_back({tensor.bytes, tensor.ordinal, tensor.persistent ? 1U : 0U, tensor.pieces,
                            static_cast<std::uint32_t>(plan.places.size()), tensor.addresses, 0});
    std::vector<std::uint32_t> own;  // pieces of a tensor have chunks of their own, away together or not
    for (std::uint32_t k = 0; k < tensor.addresses * tensor.pieces; ++k) {
      const std::vector<bool> present = presence(i, k % tensor.pieces);
      std::uint32_t chunk = 0;
      const auto taken = [&] {
        if (std::find(own.begin(), own.end(), chunk) != own.end()) return true;
        for (std::size_t at = 0; at < present.size(); ++at) {
          if (present[at] && used[chunk][at]) return true;
        }
        return false;
      };
      while (chunk < used.size() && taken()) ++chunk;
      if (chunk == used.size()) used.emplace_back(events_.size(), false);
      for (std::size_t at = 0; at < present.size(); ++at) used[chunk][at] = used[chunk][at] || present[at];
      own.push_back(chunk);
      plan.places.push_back(chunk);
    }
  }
  plan.chunk_count = static_cast<std::uint32_t>(used.size());
}

bool write_plan(const std::string& path, const FlatPlan& plan, std::string& error) {
  const std::vector<std::byte> bytes = trace::encode_flat_plan(plan);
  const std::string beside = path + ".new";
  std::FILE* file = std::fopen(beside.c_str(), "wb");
  bool written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr && std::fclose(file) != 0) written = false;
  if (written && std::rename(beside.c_str(), path.c_str()) == 0) return true;
  error = path + ": " + std::strerror(errno);
  return false;
}

}  // namespace tferry::runtime_test
