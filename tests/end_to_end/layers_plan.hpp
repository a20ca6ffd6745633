#pragma once

#include "samples/layers/options.hpp"
#include "trace/flat_plan.hpp"

#include <cstdint>

namespace tferry::end_to_end {

struct LayersPlanOptions {
  std::uint64_t chunk = std::uint64_t{2} << 20;
  std::size_t least_gap = 12;  ///< operations between two uses from which a buffer leaves in between
  std::size_t ahead = 6;       ///< operations before the second one at which it returns
  std::uint32_t spare = 4;     ///< chunks of budget for what the plan does not know
};

/// A plan for the driver-API twin of the layers sample, made by hand: every large buffer leaves between any
/// two uses that lie far enough apart. The sample's schedule is carried out by a machine that writes the
/// iteration down instead of computing.
trace::FlatPlan layers_plan(const samples::LayersOptions& sample, const LayersPlanOptions& options = {});

}  // namespace tferry::end_to_end
