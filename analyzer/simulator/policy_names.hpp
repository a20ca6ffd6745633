#pragma once

#include "analyzer/simulator/policies.hpp"
#include "analyzer/workload/workload.hpp"

#include <memory>
#include <string_view>

namespace tferry::analyzer {

/// Rates of managed memory on an H200 (bytes per ns): faults of the GPU, prefetch in pieces of 16 MiB, and to
/// host memory by several threads; eviction by the driver reaches 8 to 16, here the middle. Simulations of
/// `naive-um` and `pump` use them instead of the link's.
inline constexpr double kFaultRate = 9.7;
inline constexpr double kDriverEvictionRate = 12;
inline constexpr double kPrefetchRate = 38;
inline constexpr double kPrefetchToHostRate = 11;

/// A policy that needs no plan: on-demand, lms, lms-early, pump, naive-um. Throws std::invalid_argument for
/// another name. The workload must outlive it.
std::unique_ptr<Policy> make_policy(std::string_view name, const Workload& workload);

/// The workload as that policy sees it: with the rates of managed memory for pump and naive-um (a kernel
/// first has what is too much moved out, then faults its data in, so both ways take turns), else as it is.
Workload workload_under(std::string_view name, Workload workload);

/// On-demand in managed memory without prefetch: nothing happens before a kernel's turn.
class NaiveManagedPolicy final : public OnDemandPolicy {
 public:
  using OnDemandPolicy::OnDemandPolicy;
  std::string_view name() const override { return "naive-um"; }
  std::uint64_t run_ahead(std::uint64_t) const override { return 1; }
};

/// Managed memory with prefetch at launch (Lin et al., PUMP): what launches name is fetched while those
/// before them run, no further ahead than `in_flight` launches; a little room is kept free.
class PumpPolicy final : public LmsPolicy {
 public:
  explicit PumpPolicy(const Workload& workload, std::uint64_t in_flight = 8)
      : LmsPolicy(workload), in_flight_(in_flight) {}
  std::string_view name() const override { return "pump"; }
  std::uint64_t run_ahead(std::uint64_t usual) const override { return std::min(usual, in_flight_); }

 private:
  std::uint64_t in_flight_;
};

/// lms of one of several ranks: evicts its own share of the tensors before those of the others, so that ranks
/// on one link tend to move at different times.
class InterleavedLmsPolicy final : public LmsPolicy {
 public:
  InterleavedLmsPolicy(const Workload& workload, std::size_t rank, std::size_t ranks)
      : LmsPolicy(workload), rank_(rank), ranks_(ranks), launched_(workload.tensors.size()) {}
  std::string_view name() const override { return "lms, interleaved"; }
  void launching(std::uint32_t tensor, std::uint64_t position) override {
    LmsPolicy::launching(tensor, position);
    launched_[tensor] = position;
  }
  std::optional<std::uint32_t> victim(const Memory& memory, std::uint64_t position) override;

 private:
  std::size_t rank_, ranks_;
  std::vector<std::uint64_t> launched_;  ///< by tensor
};

}  // namespace tferry::analyzer
