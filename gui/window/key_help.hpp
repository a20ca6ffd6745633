#pragma once

#include <QWidget>

namespace tferry::gui {

/// All keys, in a frame over the window; any key or click closes it.
class KeyHelp {
 public:
  static void show_over(QWidget* window);
  /// The keys and what they do, as HTML.
  static QString text();
};

}  // namespace tferry::gui
