#pragma once

#include "trace/session.hpp"

#include <QString>

#include <vector>

namespace tferry::gui {

/// What a reader has to know before he believes what he sees: synthetic or simulated events, dropped records,
/// calls and records that do not join, badly aligned clocks, no analysis. One sentence each, the worst first.
/// Throws trace::SessionError.
std::vector<QString> find_warnings(trace::Session& session, bool analyzed);

}  // namespace tferry::gui
