#pragma once

#include "tests/runtime/planned_program.hpp"
#include "tests/runtime/random.hpp"

#include <vector>

namespace tferry::runtime_test {

/// A program's run with surprises: operations and allocations more, operations less, neighbours swapped,
/// frees late.
class SurprisingRun {
 public:
  SurprisingRun(const PlannedProgram& program, const Api& api, CUstream stream, Random& random)
      : run(program, api, stream), program_(program), api_(api), random_(random) {}

  /// One iteration, with a surprise before one event in so many; 0: none.
  void iterate(std::size_t one_in);
  /// Frees what is late, and what was more.
  void end();

  ProgramRun run;

 private:
  bool fills(std::size_t event) const;
  bool makes(std::size_t event) const;
  void free_late(const PlanStory::Event& event);
  void allocate_more();
  void operate_more();
  void drop_own();

  const PlannedProgram& program_;
  const Api& api_;
  Random& random_;
  std::vector<int> late_;         ///< tensors to be freed
  std::vector<CUdeviceptr> own_;  ///< allocations that no plan knows
};

}  // namespace tferry::runtime_test
