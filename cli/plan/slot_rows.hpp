#pragma once

#include "cli/report/run_summary.hpp"
#include "trace/session_writer.hpp"

#include <filesystem>

namespace tferry::cli {

/// Table slot_use: the turns of each GPU, counted.
void keep_slot_use(trace::SessionWriter& writer, const RunSummary& summary);

/// Table slot: every turn, from the logs that the job's processes left in the run directory, times since the
/// first. What is missing or damaged stands in meta `slots.missing`.
void keep_slots(trace::SessionWriter& writer, const std::filesystem::path& run_directory);

}  // namespace tferry::cli
