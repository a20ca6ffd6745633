#pragma once

#include "gui/app/options.hpp"

namespace tferry::gui {

/// Measures, in an offscreen window of 1920 x 1080 with software rendering: the time from the order to open
/// to the first full picture, the time of each frame (a movement and the painting of what it shows, pictures
/// being read beside it as for a person), searches, and the highest resident memory of the process. The moves
/// are a JSON file:
///
///   {"repeat": 5, "moves": [{"zoom": 0.8, "at": 0.5, "pan": 0.0, "frames": 30}], "searches": ["gemm"]}
///
/// `zoom` is the factor of each frame on the time that is visible, `at` the place that stays (0 left, 1
/// right), `pan` the share of the width that it moves. Writes a raw file for `tferry-bench record`: claims
/// viewer.open, viewer.frame_p99, viewer.search, viewer.memory. Throws cli::Failure for files that are none.
int run_benchmark(const Options& options);

}  // namespace tferry::gui
