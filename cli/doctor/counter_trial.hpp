#pragma once

#include "cli/doctor/machine_checks.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"

namespace tferry::cli {

/// Runs tferry-sampler for a moment, and reads what it could not do. It makes no context on any GPU.
CounterTrial try_counters(const Installation& installation, const Environment& environment);

/// What loading this libcupti.so.13 answers: "version 130001". In a child, because it may crash.
ProbeAnswer probe_cupti(const std::filesystem::path& library);

}  // namespace tferry::cli
