#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// Where the bytes of one tensor are. Contents on the card are a prefix of the tensor, contents in host
/// memory a suffix: parking takes bytes from the end of what is on the card, fetching adds there.
struct TensorState {
  std::int64_t size = 0;
  std::int64_t card = 0;     ///< bytes of card memory held
  std::int64_t present = 0;  ///< of these, with contents (or without need of any)
  std::int64_t host = 0;     ///< bytes with a good copy in host memory
  std::int64_t leaving = 0;  ///< of those present, ordered out and not yet gone
  std::int32_t pins = 0;     ///< launched operations that have not finished and use it
  bool needed = false;       ///< the contents will be read again

  std::int64_t missing() const { return size - card; }
  /// Bytes that could be ordered out now.
  std::int64_t evictable() const { return pins == 0 && card == present ? present - leaving : 0; }
};

/// All tensors under one budget. Never hands out more than that.
class Memory {
 public:
  /// Tensors begin in host memory, complete.
  explicit Memory(const Workload& workload) : free_(workload.budget) {
    for (const Tensor& tensor : workload.tensors)
      states_.push_back({tensor.size, 0, 0, tensor.size, 0, 0, true});
  }

  const TensorState& operator[](std::uint32_t tensor) const { return states_[tensor]; }
  TensorState& operator[](std::uint32_t tensor) { return states_[tensor]; }
  std::size_t size() const { return states_.size(); }
  std::int64_t free() const { return free_; }

  /// Takes card memory for a tensor, at most `bytes` and what is free; returns how much.
  std::int64_t grab(std::uint32_t tensor, std::int64_t bytes) {
    const std::int64_t got = bytes < free_ ? bytes : free_;
    states_[tensor].card += got;
    free_ -= got;
    return got;
  }
  /// Gives back the last `bytes` of the contents on the card.
  void drop(std::uint32_t tensor, std::int64_t bytes) {
    states_[tensor].present -= bytes;
    states_[tensor].card -= bytes;
    free_ += bytes;
  }
  /// The tensor is freed: no memory, no contents.
  void release(std::uint32_t tensor) {
    TensorState& state = states_[tensor];
    free_ += state.card;
    state.card = state.present = state.host = state.leaving = 0;
    state.needed = false;
  }

 private:
  std::vector<TensorState> states_;
  std::int64_t free_;
};

}  // namespace tferry::analyzer
