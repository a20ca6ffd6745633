#pragma once

#include "analyzer/simulator/policy.hpp"
#include "analyzer/workload/uses.hpp"

#include <vector>

namespace tferry::analyzer {

/// Tensors in the order of their last launch.
class RecencyList {
 public:
  explicit RecencyList(std::size_t tensors);
  void touch(std::uint32_t tensor);
  /// The least recently used tensor that can leave. Memory comes to tensors by being launched only: what has
  /// none is walked past once.
  std::optional<std::uint32_t> oldest_evictable(const Memory& memory);

 private:
  void unlink(std::uint32_t node);
  std::vector<std::uint32_t> next_, previous_;  ///< the last entry is the list's head
};

/// Fetches at launch; when room is needed the least recently used leaves, piece by piece. What the runtime
/// does when it knows nothing.
class OnDemandPolicy : public Policy {
 public:
  explicit OnDemandPolicy(const Workload& workload) : recency_(workload.tensors.size()) {}
  std::string_view name() const override { return "on-demand"; }
  void launching(std::uint32_t tensor, std::uint64_t) override { recency_.touch(tensor); }
  void finished(std::uint64_t, Mover&) override {}
  std::optional<std::uint32_t> victim(const Memory& memory, std::uint64_t) override {
    return recency_.oldest_evictable(memory);
  }
  void evicted(std::uint32_t, std::int64_t) override {}

 protected:
  std::optional<std::uint32_t> oldest(const Memory& memory) { return recency_.oldest_evictable(memory); }

 private:
  RecencyList recency_;
};

/// On-demand, but a little room is kept free ahead of need once something had to leave: as much as the
/// largest tensor, at most a sixteenth of the budget, from what was not used for 128 operations. What the
/// runtime does by default; reclaiming when full and fetching when needed as IBM's Large Model Support
/// without its early page-out.
class LmsPolicy : public OnDemandPolicy {
 public:
  explicit LmsPolicy(const Workload& workload);
  std::string_view name() const override { return "lms"; }
  void launching(std::uint32_t tensor, std::uint64_t position) override;
  void finished(std::uint64_t position, Mover& mover) override;
  void evicted(std::uint32_t, std::int64_t) override { swapping_ = true; }

 private:
  static constexpr std::uint64_t kRecentOperations = 128;

  std::int64_t headroom_;
  bool swapping_ = false;
  std::vector<std::uint64_t> last_use_;  ///< by tensor: position
};

/// On-demand, and what was reclaimed after some use in an earlier iteration leaves right after that use in
/// the next ones: the early page-out of IBM's Large Model Support (Le et al., "TFLMS", 2018) without its
/// graph rewriting.
class LmsEarlyPolicy : public OnDemandPolicy {
 public:
  explicit LmsEarlyPolicy(const Workload& workload);
  std::string_view name() const override { return "lms-early"; }
  void launching(std::uint32_t tensor, std::uint64_t position) override;
  void finished(std::uint64_t position, Mover& mover) override;
  void evicted(std::uint32_t tensor, std::int64_t bytes) override;

 private:
  Uses uses_;
  std::vector<std::size_t> first_use_;       ///< by operation, into the next two
  std::vector<std::int64_t> reclaimed_;      ///< by use: bytes reclaimed after it, the most of any iteration
  std::vector<std::int64_t> reclaimed_now_;  ///< by use: in the iteration under way
  std::vector<std::size_t> last_use_;        ///< by tensor
};

}  // namespace tferry::analyzer
