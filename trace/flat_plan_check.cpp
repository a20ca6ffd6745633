#include "trace/flat_plan.hpp"

#include <algorithm>
#include <utility>

namespace tferry::trace {
namespace {

constexpr std::size_t kMaxCount = 0xffff'ffff;
constexpr std::uint32_t kMaxChunks = 1 << 24;  // 32 TiB of the smallest device handles
constexpr std::size_t kMaxNameLength = 4096;

std::string numbered(const char* what, std::size_t index, const char* problem) {
  return std::string(what) + " " + std::to_string(index) + " " + problem;
}

std::string header_error(const FlatPlan& plan) {
  const std::uint64_t chunk = plan.chunk_bytes;
  if (chunk == 0 || (chunk & (chunk - 1)) != 0) return "the chunk size is no power of two";
  if (plan.chunk_count == 0) return "there are no chunks";
  if (plan.chunk_count > kMaxChunks) return "there are too many chunks";
  if (plan.budget_bytes / chunk < plan.chunk_count) return "the chunks exceed the budget";
  if (plan.predicted_ns < 0 || plan.bound_ns < 0 || plan.in_memory_ns < 0 || plan.forced_bytes < 0)
    return "a time or the forced bytes are negative";
  if (static_cast<std::uint32_t>(plan.route) > static_cast<std::uint32_t>(CopyRoute::Way::kBoth))
    return "its route is not known";
  if (plan.name.size() > kMaxNameLength) return "the name is too long";
  if (plan.operations.empty()) return "there are no operations";
  if (std::max({plan.operations.size(), plan.names.size(), plan.tensors.size(), plan.places.size(),
                plan.leaves.size(), plan.returns.size()}) > kMaxCount)
    return "there are too many entries";
  return "";
}

std::string operation_error(const FlatPlan& plan) {
  std::vector<std::uint32_t> named_by(plan.tensors.size(), 0);  // the last operation that did, from 1
  std::size_t named = 0;
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const FlatPlan::Operation& operation = plan.operations[i];
    if (operation.signature == 0) return numbered("operation", i, "has no signature");
    if (operation.first_name > plan.names.size() ||
        operation.name_count > plan.names.size() - operation.first_name)
      return numbered("operation", i, "names more than there is");
    // Shared lists would make a small file cost much time.
    named += operation.name_count;
    if (named > plan.names.size()) return numbered("operation", i, "shares its names with another");
    for (std::uint32_t k = 0; k < operation.name_count; ++k) {
      const std::uint32_t tensor = plan.names[operation.first_name + k];
      if (tensor >= plan.tensors.size()) return numbered("operation", i, "names an unknown tensor");
      const auto number = static_cast<std::uint32_t>(i + 1);
      if (std::exchange(named_by[tensor], number) == number)
        return numbered("operation", i, "names a tensor twice");
    }
  }
  return "";
}

std::string tensor_error(const FlatPlan& plan, std::size_t index, std::vector<std::uint32_t>& used_by) {
  const FlatPlan::Tensor& tensor = plan.tensors[index];
  const auto bytes = static_cast<std::uint64_t>(tensor.bytes);
  if (tensor.bytes <= 0) return numbered("tensor", index, "has no bytes");
  if (tensor.pieces != bytes / plan.chunk_bytes + (bytes % plan.chunk_bytes != 0))
    return numbered("tensor", index, "has pieces that do not cover its bytes");
  if (tensor.persistent > 1) return numbered("tensor", index, "has an unknown kind");
  if (tensor.addresses == 0 || (tensor.persistent && tensor.addresses != 1))
    return numbered("tensor", index, "has a wrong number of addresses");
  const std::uint64_t places = std::uint64_t{tensor.addresses} * tensor.pieces;
  if (tensor.first_place > plan.places.size() || places > plan.places.size() - tensor.first_place)
    return numbered("tensor", index, "has places beyond the list");
  for (std::uint64_t k = 0; k < places; ++k) {
    const std::uint32_t chunk = plan.places[tensor.first_place + k];
    if (chunk >= plan.chunk_count) return numbered("tensor", index, "lies in an unknown chunk");
    const auto number = static_cast<std::uint32_t>(index + 1);
    if (std::exchange(used_by[chunk], number) == number)
      return numbered("tensor", index, "lies in a chunk twice");
  }
  return "";
}

std::string tensors_error(const FlatPlan& plan) {
  std::vector<std::uint32_t> used_by(plan.chunk_count, 0);
  std::vector<std::pair<std::int64_t, std::uint32_t>> allocations;
  std::size_t placed = 0;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (std::string error = tensor_error(plan, i, used_by); !error.empty()) return error;
    placed += std::size_t{plan.tensors[i].addresses} * plan.tensors[i].pieces;
    if (placed > plan.places.size()) return numbered("tensor", i, "shares its places with another");
    if (!plan.tensors[i].persistent) allocations.emplace_back(plan.tensors[i].bytes, plan.tensors[i].ordinal);
  }
  std::sort(allocations.begin(), allocations.end());
  if (std::adjacent_find(allocations.begin(), allocations.end()) != allocations.end())
    return "two tensors are the same allocation of the iteration";
  return "";
}

std::string steps_error(const FlatPlan& plan, const char* what, const std::vector<FlatPlan::Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const FlatPlan::Step& step = steps[i];
    if (step.position >= plan.operations.size()) return numbered(what, i, "is beyond the last operation");
    if (i > 0 && step.position < steps[i - 1].position) return numbered(what, i, "is out of order");
    if (step.tensor >= plan.tensors.size()) return numbered(what, i, "moves an unknown tensor");
    const FlatPlan::Tensor& tensor = plan.tensors[step.tensor];
    if (step.count == 0 || step.first >= tensor.pieces || step.count > tensor.pieces - step.first)
      return numbered(what, i, "moves pieces that its tensor does not have");
    // With several instances alive a step would not tell which one it means.
    if (tensor.addresses > 1) return numbered(what, i, "moves a tensor with addresses in rotation");
  }
  return "";
}

/// Around the iteration every piece must leave and return by turns, but for pieces of a tensor that is
/// allocated in it: those can be freed while away, and be there again by the next allocation. Returns come
/// before the operation at their position, leaves after it.
class Turns {
 public:
  explicit Turns(const FlatPlan& plan) : plan_(plan) {
    for (const FlatPlan::Tensor& tensor : plan.tensors) {
      first_.push_back(state_.size());
      state_.resize(state_.size() + tensor.pieces);
    }
  }

  std::string error() {
    std::size_t leave = 0, back = 0;
    while (leave < plan_.leaves.size() || back < plan_.returns.size()) {
      const bool take_return =
          back < plan_.returns.size() &&
          (leave == plan_.leaves.size() || plan_.returns[back].position <= plan_.leaves[leave].position);
      const FlatPlan::Step& step = take_return ? plan_.returns[back++] : plan_.leaves[leave++];
      if (!take(step, take_return ? kHere : kAway))
        return numbered("tensor", step.tensor, take_return ? "returns twice" : "leaves twice");
    }
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      for (std::size_t piece = 0; piece < plan_.tensors[i].pieces; ++piece) {
        const State& state = state_[first_[i] + piece];
        if (state.now == kAway && !plan_.tensors[i].persistent) continue;
        if (state.begin == state.now && state.now != kUnknown)
          return numbered("tensor", i,
                          state.now == kAway ? "leaves and does not return" : "returns and never left");
      }
    }
    return "";
  }

 private:
  enum Where : std::uint8_t { kUnknown, kHere, kAway };
  struct State {
    Where begin = kUnknown;  ///< after the piece's first step
    Where now = kUnknown;    ///< after its last one so far
  };

  bool take(const FlatPlan::Step& step, Where where) {
    for (std::uint32_t k = 0; k < step.count; ++k) {
      State& state = state_[first_[step.tensor] + step.first + k];
      if (state.now == where && (where == kHere || plan_.tensors[step.tensor].persistent)) return false;
      state.now = where;
      if (state.begin == kUnknown) state.begin = where;
    }
    return true;
  }

  const FlatPlan& plan_;
  std::vector<std::size_t> first_;
  std::vector<State> state_;
};

}  // namespace

std::string flat_plan_error(const FlatPlan& plan) {
  if (std::string error = header_error(plan); !error.empty()) return error;
  if (std::string error = tensors_error(plan); !error.empty()) return error;
  if (std::string error = operation_error(plan); !error.empty()) return error;
  if (std::string error = steps_error(plan, "leave", plan.leaves); !error.empty()) return error;
  if (std::string error = steps_error(plan, "return", plan.returns); !error.empty()) return error;
  return Turns(plan).error();
}

}  // namespace tferry::trace
