#pragma once

#include "gui/paint/theme.hpp"
#include "gui/window/session_view.hpp"

#include <QPalette>
#include <QString>

namespace tferry::gui {

/// "light", "dark", or "auto": what the desktop uses.
Theme chosen_theme(const QString& name);
/// The colours of all other widgets, to go with it.
QPalette palette_of(const Theme& theme);
/// How long a measured stretch is, and what ran in it, by what the picture tells.
QString measure_text(const SessionView& view, TimeRange range);
/// The same stretch of another session: at the same place after its first iteration, or after its first event
/// where one of them has no iterations.
TimeRange aligned(TimeRange range, const Overview& from, const Overview& to);

}  // namespace tferry::gui
