#include "gui/window/progress_strip.hpp"

#include <QHBoxLayout>

namespace tferry::gui {
namespace {

constexpr int kLookMs = 120;
constexpr qint64 kShownAfterMs = 300;

}  // namespace

ProgressStrip::ProgressStrip(QWidget* parent)
    : QWidget(parent), label_(new QLabel), bar_(new QProgressBar), button_(new QToolButton) {
  bar_->setRange(0, 100);
  bar_->setMaximumWidth(160);
  bar_->setMaximumHeight(16);
  bar_->setAccessibleName(QStringLiteral("Progress"));
  button_->setText(QStringLiteral("Cancel"));
  button_->setToolTip(QStringLiteral("Give it up (Ctrl+.)"));
  button_->setAccessibleName(QStringLiteral("Cancel what is being worked on"));
  connect(button_, &QToolButton::clicked, this, &ProgressStrip::cancel);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(label_);
  layout->addWidget(bar_);
  layout->addWidget(button_);
  hide();
  timer_.setInterval(kLookMs);
  connect(&timer_, &QTimer::timeout, this, &ProgressStrip::look);
  timer_.start();
}

void ProgressStrip::look() {
  std::optional<Progress::State> longest;
  for (const Progress* worker : workers_ ? workers_() : std::vector<Progress*>()) {
    const auto state = worker->state();
    if (state && state->lasted >= kShownAfterMs && (!longest || state->lasted > longest->lasted))
      longest = state;
  }
  setVisible(longest.has_value());
  if (!longest) return;
  label_->setText(longest->what);
  bar_->setValue(longest->percent);
}

void ProgressStrip::cancel() {
  for (Progress* worker : workers_ ? workers_() : std::vector<Progress*>()) {
    const auto state = worker->state();
    if (state && state->what == label_->text()) worker->cancel();
  }
}

}  // namespace tferry::gui
