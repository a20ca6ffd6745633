#pragma once

#include "analyzer/live/live_recording.hpp"
#include "analyzer/session/analysis.hpp"

#include <string>

namespace tferry::analyzer {

/// Why what repeats itself in a recording is not the job's iteration yet, as far as a plan is concerned;
/// empty: it is. A job that is being built repeats itself too (the layers of its model), and so does a part
/// of an iteration. Taking over a plan for that and giving it up again costs seconds, so a plan is made only
/// when
/// - the last three iterations follow each other, nothing but the beginning of a fourth comes after them, and
///   three have the same operations;
/// - every one of these made the runtime move memory;
/// - they name half of all memory that is alive with them;
/// - nothing that the second-to-last one allocated is still there at the end: memory no longer grows.
/// `rank` is what find_typical made of the recording. Pure.
std::string reason_to_wait(const LiveRecording& recording, const RankAnalysis& rank);

}  // namespace tferry::analyzer
