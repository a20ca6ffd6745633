#include "analyzer/simulator/policy_names.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tferry::analyzer {

std::unique_ptr<Policy> make_policy(std::string_view name, const Workload& workload) {
  if (name == "on-demand") return std::make_unique<OnDemandPolicy>(workload);
  if (name == "lms") return std::make_unique<LmsPolicy>(workload);
  if (name == "lms-early") return std::make_unique<LmsEarlyPolicy>(workload);
  if (name == "pump") return std::make_unique<PumpPolicy>(workload);
  if (name == "naive-um") return std::make_unique<NaiveManagedPolicy>(workload);
  throw std::invalid_argument("there is no policy " + std::string(name));
}

Workload workload_under(std::string_view name, Workload workload) {
  if (name == "naive-um") {
    workload.link = {kFaultRate, kDriverEvictionRate, kFaultRate / 2, kDriverEvictionRate / 2};
  } else if (name == "pump") {
    workload.link = {kPrefetchRate, kPrefetchToHostRate, kPrefetchRate, kPrefetchToHostRate};
  }
  return workload;
}

std::optional<std::uint32_t> InterleavedLmsPolicy::victim(const Memory& memory, std::uint64_t) {
  std::optional<std::uint32_t> best;
  const auto key = [&](std::uint32_t tensor) {
    return std::pair(tensor % ranks_ != rank_, launched_[tensor]);
  };
  for (std::uint32_t tensor = 0; tensor < memory.size(); ++tensor) {
    if (memory[tensor].evictable() > 0 && (!best || key(tensor) < key(*best))) best = tensor;
  }
  return best;
}

}  // namespace tferry::analyzer
