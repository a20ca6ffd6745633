#pragma once

#include "cli/doctor/finding.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/doctor/probe.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/topology/pcie_tree.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// Checks of `tferry doctor` about the machine and about what profiling needs; like those of checks.hpp each
/// turns something observed into findings.

/// Links that run below what both ends can do. Links slow down while a GPU is idle, so that a lower
/// generation alone is no loss; fewer lanes are.
std::vector<Finding> check_pcie(const std::vector<PcieLink>& links);
/// Whether this process runs where its GPUs' host memory is.
Finding check_numa(const std::vector<PcieLink>& links, const Machine& machine);
/// What the container or control group, and the limits of the shell, leave.
Finding check_limits(const Machine& machine);
Finding check_managed_memory(const Machine& machine);
/// Whether the driver gives counters to this user, before any tool asks for them.
Finding check_counter_permission(const Machine& machine, bool root);

/// What tferry-sampler said when it was tried for a moment.
struct CounterTrial {
  bool here = true;                 ///< the program was found
  int gpus = 0;                     ///< that it could sample
  std::string problem;              ///< why none
  std::vector<std::string> losses;  ///< what each GPU lacked, in its own words
};
Finding check_counters(const CounterTrial& trial);

/// libcupti as a job will find it: `offered` is the one that we would offer, `version` what loading it
/// answered.
Finding check_cupti(const std::optional<std::filesystem::path>& offered, const ProbeAnswer& version,
                    const std::optional<std::filesystem::path>& in_library_path);
/// The libcupti.so.13 that LD_LIBRARY_PATH would give a program before ours.
std::optional<std::filesystem::path> cupti_in_library_path(const Environment& environment);
Finding check_collector(const Installation& installation);
/// Other tools that the environment would inject into CUDA programs.
Finding check_injection(const Environment& environment);
/// JAX's allocator variables: with preallocation nothing of a tensor's life is seen.
Finding check_jax(const Environment& environment);

}  // namespace tferry::cli
