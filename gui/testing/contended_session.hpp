#pragma once

#include <string>

namespace tferry::gui {

/// Path of an analyzed session of two ranks on two GPUs behind one switch, that copy in 100 MB at the same
/// time in each of six iterations of 6 ms: 2 ms alone, 4 together, so that each loses 2 ms to the other every
/// iteration. Made once for the process.
const std::string& contended_session();

}  // namespace tferry::gui
