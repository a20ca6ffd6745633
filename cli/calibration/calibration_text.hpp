#pragma once

#include "trace/calibration.hpp"

#include <string>

namespace tferry::cli {

/// A calibration for people: what each GPU reaches alone, what all of them reach together, which of them
/// share something and by what factor, and the rest below. Every figure with its spread.
std::string calibration_text(const trace::Calibration& calibration);

}  // namespace tferry::cli
