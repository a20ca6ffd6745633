#pragma once

#include "cli/budget.hpp"
#include "cli/job/pytorch_allocator.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tferry::cli {

class Environment;

/// What a job is to be run under, checked.
struct JobSettings {
  Budget budget = Budget::parse("auto");
  PytorchAllocator allocator = PytorchAllocator::kAuto;
  std::optional<std::int64_t> host_budget, reserve, chunk, movable,
      managed_limit;                    ///< bytes; unset: the runtime's own choice
  std::string memory = "explicit";      ///< or "managed"
  std::string policy;                   ///< empty: the runtime's default
  std::string route;                    ///< by which links contents move; empty: each GPU's own
  bool allow_oversubscription = false;  ///< of managed memory
  bool verify = false;
  bool quiet = false;
  bool detailed = false;
};

/// Bytes of a device handle: a power of two from 64 KiB to 1 GiB. Throws Failure.
std::int64_t parse_chunk(const std::string& text);

/// Sets the variables of trace/job_environment.hpp, LD_PRELOAD (the user's own kept) and what the allocator
/// choice needs. A library path that LD_PRELOAD cannot express (space or colon) is reached by a link in the
/// run directory. Returns the allocator choice in words. Throws Failure if that link cannot be made.
std::string apply_settings(const JobSettings& settings, const std::filesystem::path& runtime_library,
                           const std::filesystem::path& run_directory, Environment& environment);

/// "environment: LD_PRELOAD (ours in front of yours), PYTORCH_NO_CUDA_MEMORY_CACHING=1, TFERRY_BUDGET ...".
std::string describe_changes(const Environment& environment);
/// One variable a line, with values.
std::string list_changes(const Environment& environment);

}  // namespace tferry::cli
