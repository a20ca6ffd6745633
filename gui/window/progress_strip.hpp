#pragma once

#include "gui/session/progress.hpp"

#include <QLabel>
#include <QProgressBar>
#include <QTimer>
#include <QToolButton>
#include <QWidget>

#include <functional>
#include <vector>

namespace tferry::gui {

/// What the window's workers are at, in the status bar: the longest of what has lasted more than a moment,
/// how far it is, and a button that gives it up (also Ctrl+.). Looks a few times a second; hidden while
/// nothing lasts.
class ProgressStrip : public QWidget {
  Q_OBJECT

 public:
  explicit ProgressStrip(QWidget* parent = nullptr);

  /// Asked each time for the workers that there are.
  void watch(std::function<std::vector<Progress*>()> workers) { workers_ = std::move(workers); }
  /// Gives up what is shown.
  void cancel();
  QString text() const { return label_->text(); }
  int percent() const { return bar_->value(); }

 public Q_SLOTS:
  void look();

 private:
  std::function<std::vector<Progress*>()> workers_;
  QLabel* label_;
  QProgressBar* bar_;
  QToolButton* button_;
  QTimer timer_;
};

}  // namespace tferry::gui
