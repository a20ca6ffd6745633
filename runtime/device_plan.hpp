#pragma once

#include "runtime/block.hpp"
#include "runtime/plan_follower.hpp"
#include "runtime/plan_judge.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tferry::runtime {

/// A plan on one device: the program in it and, while it is adopted, what the plan holds there: a block for
/// every address of its tensors and a device chunk for every one of its own. A block of the plan is live, or
/// free and in no list of free blocks. Carried out by DeviceMemory (planned.cpp, plan_adoption.cpp).
struct DevicePlan {
  DevicePlan(std::shared_ptr<const PlanIndex> plan, std::int64_t smallest, std::uint64_t number)
      : index(std::move(plan)), follower(index, smallest), serial(number) {
    for (const trace::FlatPlan::Tensor& tensor : index->plan().tensors) {
      first_block.push_back(blocks.size());
      blocks.resize(blocks.size() + tensor.addresses, nullptr);
    }
    next_address.resize(first_block.size(), 0);
  }

  const trace::FlatPlan& plan() const { return index->plan(); }
  const char* name() const { return plan().name.empty() ? "the plan" : plan().name.c_str(); }

  std::shared_ptr<const PlanIndex> index;
  PlanFollower follower;
  PlanJudge judge;
  std::uint64_t serial;

  std::vector<std::size_t> first_block;     ///< by tensor, into `blocks`
  std::vector<Block*> blocks;               ///< by address of a tensor; null: none
  std::vector<std::uint32_t> next_address;  ///< by tensor: which address its next instance gets
  std::vector<ChunkId> chunks;              ///< by plan chunk
  bool displaced = false;                   ///< some piece's address maps another chunk than its home
  bool intruded = false;                    ///< contents that are not the plan's lie in a chunk of its own

  int refusals = 0;         ///< ends of iterations at which there was no room for it
  bool agreed = false;      ///< all ranks change to it (coordination/plan_agreement.hpp)
  bool complained = false;  ///< that it is another program's
  // at the last boundary
  std::uint64_t followed = 0;  ///< iterations, of the follower's count
  std::int64_t boundary_mappings = 0;
  std::int64_t boundary_out = 0;
  std::int64_t boundary_in = 0;
  PlanFollower::Counts counted;  ///< what is on the status page already
};

}  // namespace tferry::runtime
