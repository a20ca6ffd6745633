#pragma once

#include "runtime/plan_index.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace tferry::runtime {

/// Where plans come from: the file that TFERRY_PLAN names, read once, and `plan.PID` in the run directory,
/// which the launcher may put there and replace (by renaming) while the job runs. Under the runtime's lock.
class PlanSource {
 public:
  /// Either may be empty.
  PlanSource(std::string file, const std::string& run_directory);

  /// The plan of TFERRY_PLAN; null when there is none, or with the reason in `error` when it cannot be
  /// followed. The file is read at the first call.
  std::shared_ptr<const PlanIndex> first(std::string& error);
  /// The plan in `plan.PID` if it was put there since the last call; null otherwise, with the reason in
  /// `error` when there is one that cannot be followed. Costs one system call while there is none.
  std::shared_ptr<const PlanIndex> newer(std::string& error);

 private:
  static std::shared_ptr<const PlanIndex> read(const std::string& path, std::string& error);

  std::string file_;
  std::string live_;
  std::shared_ptr<const PlanIndex> first_;
  bool read_ = false;
  // of the file read last
  std::uint64_t inode_ = 0;
  std::int64_t changed_ns_ = 0;
  std::int64_t size_ = -1;
};

}  // namespace tferry::runtime
