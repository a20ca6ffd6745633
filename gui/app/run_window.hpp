#pragma once

#include "gui/app/options.hpp"

namespace tferry::gui {

/// Opens the window, or measures it where --benchmark asks for that, and runs until it is closed. Needs a
/// QApplication. Returns the exit code.
int run_window(const Options& options);

}  // namespace tferry::gui
