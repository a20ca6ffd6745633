#pragma once

#include "gui/session/lane.hpp"
#include "gui/session/name_book.hpp"

#include <QColor>

#include <array>

namespace tferry::gui {

/// Colours of the timeline. Kernels take the "light" scheme of Paul Tol (SRON/EPS/TN/09-002, 2021), copies
/// and warnings that of Okabe and Ito (2008): both keep apart for readers with any colour vision. No two
/// meanings differ by colour alone: every lane has its title, every event its label or tooltip.
struct Theme {
  QColor background, stripe, grid, text, muted, group, axis, border;
  QColor accent;  ///< selection and search
  QColor warning, warning_text;
  QColor to_gpu, to_host, within, peer, other;
  QColor memory, memory_dead, memory_parked, limit;
  QColor counter, counter_known;
  QColor wait, plan;
  std::array<QColor, 7> kernels;
  std::array<QColor, 7> markers;  ///< the same, told apart from kernels
  bool dark = false;

  static Theme light();
  static Theme dark_one();

  /// Of an event in a lane.
  QColor of(const Lane& lane, const Item& item, const NameBook& names) const;
  /// Black or white, whichever reads better on it.
  static QColor text_on(const QColor& fill);
};

}  // namespace tferry::gui
