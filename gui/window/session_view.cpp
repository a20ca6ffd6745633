#include "gui/window/session_view.hpp"

#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <functional>
#include <utility>

namespace tferry::gui {
namespace {

constexpr int kShowOpeningMs = 400;  // most sessions are open by then
constexpr int kLookMs = 100;

}  // namespace

SessionView::SessionView(QWidget* parent)
    : QWidget(parent),
      warnings_(new QLabel),
      stack_(new QStackedWidget),
      timeline_(new TimelineView),
      message_(new QLabel) {
  warnings_->setWordWrap(true);
  warnings_->setMargin(5);
  warnings_->setAutoFillBackground(true);
  warnings_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  warnings_->setAccessibleName(QStringLiteral("Warnings"));
  warnings_->hide();
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  message_->setAccessibleName(QStringLiteral("Message"));
  stack_->addWidget(timeline_);
  stack_->addWidget(message_);
  stack_->addWidget(make_opening_page());
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(warnings_);
  layout->addWidget(stack_, 1);
  connect_workers();
  connect_timeline();
}

/// Shown when opening takes more than a moment.
QWidget* SessionView::make_opening_page() {
  opening_ = new QLabel;
  opening_->setAlignment(Qt::AlignCenter);
  opening_bar_ = new QProgressBar;
  opening_bar_->setRange(0, 100);
  opening_bar_->setFixedWidth(320);
  opening_bar_->setAccessibleName(QStringLiteral("Opening"));
  auto* button = new QPushButton(QStringLiteral("Cancel"));
  button->setShortcut(QKeySequence(Qt::Key_Escape));
  connect(button, &QPushButton::clicked, this, &SessionView::cancel);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->addStretch(1);
  for (QWidget* widget :
       {static_cast<QWidget*>(opening_), static_cast<QWidget*>(opening_bar_), static_cast<QWidget*>(button)})
    layout->addWidget(widget, 0, Qt::AlignHCenter);
  layout->addStretch(1);
  opening_timer_.setSingleShot(true);
  opening_timer_.setInterval(kShowOpeningMs);
  connect(&opening_timer_, &QTimer::timeout, this, [this, button] {
    stack_->setCurrentIndex(2);
    button->setFocus();
  });
  opening_look_.setInterval(kLookMs);
  connect(&opening_look_, &QTimer::timeout, this, [this] {
    if (!is_opening()) return;
    const auto state = pictures_.worker()->progress().state();
    opening_bar_->setValue(state ? state->percent : 0);
  });
  opening_look_.start();
  return page;
}

void SessionView::connect_workers() {
  SessionWorker* pictures = pictures_.worker();
  connect(
      pictures, &SessionWorker::opened, this,
      [this](const OverviewPtr& overview, const std::shared_ptr<const NameBook>& names) {
        overview_ = overview;
        names_ = names;
        warnings_->setText(
            QStringLiteral("⚠  ") +
            QStringList(overview->warnings.begin(), overview->warnings.end()).join(QStringLiteral("\n⚠  ")));
        warnings_->setVisible(!overview->warnings.empty());
        stack_->setCurrentIndex(0);
        opening_timer_.stop();
        answers_.post([overview](SessionWorker& worker) { worker.open_like(overview->path, overview); });
        again_ ? timeline_->set_session_again(overview, names) : timeline_->set_session(overview, names);
        Q_EMIT opened();
      });
  connect(pictures, &SessionWorker::picture_ready, this, [this](PicturePtr picture, quint64 number) {
    if (number < shown_number_) return;
    shown_number_ = number;
    timeline_->set_picture(std::move(picture));
    if (is_settled()) Q_EMIT settled();
  });
  for (SessionWorker* worker : {pictures, answers_.worker(), estimates_.worker()})
    connect(worker, &SessionWorker::failed, this, &SessionView::show_failure);
  SessionWorker* answers = answers_.worker();
  connect(answers, &SessionWorker::facts_ready, this, [this](const EventFacts& facts, quint64) {
    timeline_->show_facts(facts);
    if (facts.event == selection_.event) {
      facts_ = facts;
      Q_EMIT facts_changed();
    }
    answered();
  });
  connect(answers, &SessionWorker::found, this, [this](const FoundEvent& event) {
    if (std::exchange(frame_found_, false) && event.event.id != 0) timeline_->show_around(event.range);
    timeline_->select(event);
    answered();
  });
  connect(answers, &SessionWorker::relations_ready, this,
          [this](EventRef of, const std::vector<Relation>& relations) {
            timeline_->set_relations(of, relations);
            if (of == selection_.event) Q_EMIT facts_changed();
            answered();
          });
  connect(answers, &SessionWorker::searched, this, [this](const SearchResult& result) {
    matches_ = result;
    timeline_->set_matching({result.names.begin(), result.names.end()});
    Q_EMIT searched();
    answered();
  });
  for (SessionWorker* worker : {answers, estimates_.worker()}) {
    connect(worker, &SessionWorker::report_ready, this, [this](const QString& name, const TablesPtr& tables) {
      Q_EMIT report_ready(name, tables);
      answered();
    });
    connect(worker, &SessionWorker::report_failed, this, [this](const QString& name, const QString& why) {
      Q_EMIT report_failed(name, why);
      answered();
    });
    connect(worker, &SessionWorker::report_cancelled, this, [this](const QString& name) {
      Q_EMIT report_cancelled(name);
      answered();
    });
  }
}

void SessionView::connect_timeline() {
  connect(timeline_, &TimelineView::picture_wanted, this,
          [this](TimeRange range, double resolution, const std::set<int>& tensors) {
            const quint64 number = ++picture_number_;
            pictures_.worker()->want_only(number);
            pictures_.post(
                [=](SessionWorker& worker) { worker.read_picture(range, resolution, tensors, number); });
          });
  connect(timeline_, &TimelineView::facts_wanted, this,
          [this](EventRef event) { ask([event](SessionWorker& worker) { worker.read_facts(event, 0); }); });
  connect(timeline_, &TimelineView::summary_clicked, this,
          [this](int lane, qint64 time, qint64 within, int row) {
            ask([=](SessionWorker& worker) { worker.find_at(lane, time, within, row); });
          });
  connect(timeline_, &TimelineView::step_wanted, this, [this](int lane, qint64 name, qint64 time, int step) {
    std::vector<std::int64_t> names;
    if (name != 0) names.push_back(name);
    if (lane < 0 && names.empty()) names = matches_.names;
    ask([=](SessionWorker& worker) { worker.find_next(names, lane, time, step); });
  });
  connect(timeline_, &TimelineView::selected, this, [this](const FoundEvent& event) {
    selection_ = event;
    if (event.event.id == 0) facts_ = {};
    Q_EMIT selection_changed();
    if (event.event.id == 0) {
      Q_EMIT facts_changed();
      return;
    }
    ask([of = event.event](SessionWorker& worker) { worker.read_relations(of); });
  });
  connect(timeline_, &TimelineView::relation_wanted, this, [this](bool waiter) {
    // Forwards to what came of it; back to what it came from.
    for (const Relation& relation : relations()) {
      const bool forwards = relation.kind == Relation::Kind::kWaiter ||
                            relation.kind == Relation::Kind::kEffect ||
                            relation.kind == Relation::Kind::kActual;
      if (forwards == waiter) return timeline_->select(relation.event);
    }
  });
}

void SessionView::ask(std::function<void(SessionWorker&)> order) {
  ++pending_answers_;
  answers_.post(std::move(order));
}

void SessionView::answered() {
  if (pending_answers_ > 0) --pending_answers_;
  if (is_settled()) Q_EMIT settled();
}

void SessionView::show_failure(const QString& what, const QString& remedy) {
  opening_timer_.stop();
  pending_answers_ = 0;
  failure_ = what;
  message_->setText(
      QStringLiteral("<h3>%1</h3><p>What to do: %2</p>").arg(what.toHtmlEscaped(), remedy.toHtmlEscaped()));
  warnings_->hide();
  stack_->setCurrentIndex(1);
  Q_EMIT failed(what);
}

void SessionView::cancel() { pictures_.worker()->progress().cancel(); }

std::vector<Progress*> SessionView::progress() {
  std::vector<Progress*> workers;
  for (SessionWorker* worker : {pictures_.worker(), answers_.worker(), estimates_.worker()})
    workers.push_back(&worker->progress());
  return workers;
}

void SessionView::explain(const QString& tensor, std::int64_t plan) {
  estimate([tensor, plan](SessionWorker& worker) { worker.explain(tensor, plan); });
}

void SessionView::make_plan(std::int64_t budget_bytes) {
  estimate([budget_bytes](SessionWorker& worker) { worker.make_plan(budget_bytes); });
}

void SessionView::open(const QString& path, bool again) {
  again_ = again && overview_;
  opening_->setText(QStringLiteral("Opening ") + path);
  opening_timer_.start();
  overview_.reset();
  selection_ = {};
  facts_ = {};
  matches_ = {};
  pending_answers_ = 0;
  pictures_.post([path](SessionWorker& worker) { worker.open(path); });
}

void SessionView::search(const QString& pattern) {
  if (!overview_) return;
  if (pattern.isEmpty()) {
    matches_ = {};
    timeline_->set_matching({});
    Q_EMIT searched();
    return;
  }
  ask([pattern](SessionWorker& worker) { worker.search(pattern); });
}

void SessionView::step_match(int step) {
  if (!overview_ || matches_.names.empty()) return;
  const TimeRange visible = timeline_->visible();
  const bool inside = selection_.event.id != 0;
  const std::int64_t time = inside ? selection_.range.from_ns : visible.from_ns;
  ask([names = matches_.names, time, step](SessionWorker& worker) {
    worker.find_next(names, -1, time, step);
  });
}

void SessionView::go_to_first(int lane) {
  timeline_->show_lane(lane);
  ask([lane, from = overview_->range.from_ns - 1](SessionWorker& worker) {
    worker.find_next({}, lane, from, 1);
  });
}

void SessionView::go_to_window(std::int64_t start_ns) {
  frame_found_ = true;
  ask([start_ns](SessionWorker& worker) { worker.find_window(start_ns); });
}

void SessionView::go_to_worst_window(std::int64_t victim_gpu, const QString& culprit) {
  frame_found_ = true;
  ask([victim_gpu, culprit](SessionWorker& worker) { worker.find_worst_window(victim_gpu, culprit); });
}

void SessionView::make_report(const QString& name, TimeRange range, std::int64_t plan) {
  const auto order = [=](SessionWorker& worker) { worker.make_report(name, range, plan); };
  name == QLatin1String("curve") ? estimate(order) : ask(order);
}

void SessionView::compare_with(const QString& path) {
  estimate([path](SessionWorker& worker) { worker.compare_with(path); });
}

/// The worker opens the session when it is first needed, and again when it was replaced.
void SessionView::estimate(std::function<void(SessionWorker&)> order) {
  ++pending_answers_;
  estimates_.post([overview = overview_, order = std::move(order)](SessionWorker& worker) {
    worker.open_like(overview->path, overview);
    order(worker);
  });
}

void SessionView::set_theme(const Theme& theme) {
  timeline_->set_theme(theme);
  QPalette palette = warnings_->palette();
  palette.setColor(QPalette::Window, theme.warning);
  palette.setColor(QPalette::WindowText, theme.warning_text);
  warnings_->setPalette(palette);
}

}  // namespace tferry::gui
