#pragma once

#include "analyzer/placement/placement.hpp"
#include "analyzer/placement/plan_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace tferry::analyzer::testing_support {

/// For tests: follows a placement through three iterations in program order, call by call, and writes down
/// who is in which chunk. Knows nothing of how placements are made. Says what went wrong, or nothing.
class Replay {
 public:
  Replay(const PlanWorkload& workload, const Placement& placement)
      : workload_(workload), placement_(placement), tensors_(workload.workload.tensors.size()) {
    for (std::uint32_t t = 0; t < tensors_.size(); ++t) tensors_[t].pieces.resize(workload.pieces(t), kDead);
  }

  std::string run() {
    begin();
    const auto count = static_cast<std::uint32_t>(workload_.workload.operations.size());
    for (int iteration = 0; iteration < 3; ++iteration) {
      for (std::uint32_t p = 0; p < count; ++p) {
        for (const MemoryEvent& event : workload_.events) {
          if (event.position == p) allocate_or_free(event);
        }
        for (const PlacementStep& step : placement_.returns) {
          if (step.position == p) move(step, kAway, kHere);
        }
        operate(p);
        for (const PlacementStep& step : placement_.leaves) {
          if (step.position == p) move(step, kHere, kAway);
        }
      }
    }
    return error_;
  }

 private:
  enum Where : std::uint8_t { kDead, kHere, kAway };
  struct State {
    std::vector<Where> pieces;
  };

  /// What lives when an iteration begins is there, unless it left in the one before and did not return.
  void begin() {
    for (std::uint32_t t = 0; t < tensors_.size(); ++t) {
      bool alive = workload_.workload.tensors[t].persistent;
      std::int64_t born = -1;
      for (const MemoryEvent& event : workload_.events) {
        if (event.tensor != t) continue;
        alive = !event.frees;
        if (alive) born = event.position;
      }
      if (!alive) continue;
      for (std::uint32_t piece = 0; piece < tensors_[t].pieces.size(); ++piece) {
        if (left_last(t, piece, born)) {
          tensors_[t].pieces[piece] = kAway;
        } else {
          take(t, piece);
        }
      }
    }
  }

  /// The last that happens to the piece in an iteration, from operation `born` on, is that it leaves.
  bool left_last(std::uint32_t tensor, std::uint32_t piece, std::int64_t born) const {
    const auto last = [&](const std::vector<PlacementStep>& steps) {
      std::int64_t position = -1;
      for (const PlacementStep& step : steps) {
        const bool moves = step.tensor == tensor && step.first <= piece && piece < step.first + step.count;
        if (moves && step.position >= born) position = std::max<std::int64_t>(position, step.position);
      }
      return position;
    };
    const std::int64_t left = last(placement_.leaves);
    return left >= 0 && left >= last(placement_.returns);
  }

  void take(std::uint32_t tensor, std::uint32_t piece) {
    const std::uint32_t chunk = placement_.places[tensor][piece];
    const auto [holder, free] = holders_.try_emplace(chunk, tensor, piece);
    if (!free) {
      fail(fmt::format("chunk {} has piece {} of tensor {}, and gets piece {} of tensor {}", chunk,
                       holder->second.second, holder->second.first, piece, tensor));
    }
    tensors_[tensor].pieces[piece] = kHere;
  }
  void give(std::uint32_t tensor, std::uint32_t piece, Where where) {
    if (tensors_[tensor].pieces[piece] == kHere) holders_.erase(placement_.places[tensor][piece]);
    tensors_[tensor].pieces[piece] = where;
  }

  void allocate_or_free(const MemoryEvent& event) {
    for (std::uint32_t piece = 0; piece < tensors_[event.tensor].pieces.size(); ++piece) {
      if (event.frees) {
        give(event.tensor, piece, kDead);
      } else {
        take(event.tensor, piece);
      }
    }
  }

  void move(const PlacementStep& step, Where from, Where to) {
    for (std::uint32_t piece = step.first; piece < step.first + step.count; ++piece) {
      if (tensors_[step.tensor].pieces[piece] != from) {
        fail(fmt::format("operation {}: piece {} of tensor {} {}", step.position, piece, step.tensor,
                         to == kHere ? "returns and is not away" : "leaves and is not there"));
      }
      if (to == kHere) {
        take(step.tensor, piece);
      } else {
        give(step.tensor, piece, to);
      }
    }
  }

  void operate(std::uint32_t operation) {
    for (const Access& access : workload_.workload.operations[operation].accesses) {
      for (std::uint32_t piece = 0; piece < tensors_[access.tensor].pieces.size(); ++piece) {
        const Where where = tensors_[access.tensor].pieces[piece];
        if (where == kHere || (where == kDead && freed_before(operation, access.tensor))) continue;
        fail(fmt::format("operation {} uses tensor {}, piece {} is not there", operation, access.tensor,
                         piece));
      }
    }
  }

  /// Lives of a plan's workload reach over the operation before which a tensor is freed.
  bool freed_before(std::uint32_t operation, std::uint32_t tensor) const {
    return std::find(workload_.events.begin(), workload_.events.end(),
                     MemoryEvent{operation, tensor, true}) != workload_.events.end();
  }

  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  const PlanWorkload& workload_;
  const Placement& placement_;
  std::vector<State> tensors_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> holders_;  ///< tensor and piece, by chunk
  std::string error_;
};

}  // namespace tferry::analyzer::testing_support
