#pragma once

#include "cli/doctor/driver_probe.hpp"
#include "cli/doctor/finding.hpp"
#include "cli/doctor/host_memory.hpp"
#include "cli/doctor/probe.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::cli {

/// The checks of `tferry doctor`: each turns something observed into findings, so that each can be tested
/// without the machine that shows it.

/// Driver and GPUs, from the answer of a probe that ran probe_driver.
std::vector<Finding> check_driver(const ProbeAnswer& answer);
Finding check_installation(const Installation& installation);
Finding check_host_memory(const HostMemory& memory);
/// `limit` in bytes; unset: unlimited.
Finding check_locked_memory(std::optional<std::int64_t> limit);
/// Free bytes of /dev/shm; unset: it is not there.
Finding check_shared_memory(std::optional<std::int64_t> free_bytes);
/// The user's own preloaded libraries: missing files, and libraries that define driver functions as ours
/// does.
std::vector<Finding> check_preload(const Environment& environment);
/// PyTorch's allocator variables, as `tferry run` will treat them.
Finding check_pytorch(const Environment& environment);

}  // namespace tferry::cli
