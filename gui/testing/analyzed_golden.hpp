#pragma once

#include <string>

namespace tferry::gui {

/// The golden session, analyzed for two thirds of its memory: made once per process, gone with it.
const std::string& analyzed_golden();

}  // namespace tferry::gui
