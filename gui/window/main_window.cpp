#include "gui/window/main_window.hpp"

#include "cli/failure.hpp"
#include "cli/report/scope.hpp"
#include "gui/app/screenshot.hpp"
#include "gui/time/time_text.hpp"
#include "gui/window/key_help.hpp"
#include "gui/window/row_navigation.hpp"
#include "gui/window/theme_choice.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QRegularExpression>
#include <QSettings>
#include <QStatusBar>
#include <QUrl>

#include <algorithm>

namespace tferry::gui {
namespace {

constexpr int kMostRecent = 10;
constexpr int kMessageMs = 4000;
constexpr const char* kCompare = "compare";  // the report about two sessions
constexpr const char* kPlan = "plan";
constexpr const char* kWhy = "why";

}  // namespace

MainWindow::MainWindow(const Options& options, QWidget* parent)
    : QMainWindow(parent), options_(options), splitter_(new QSplitter(Qt::Vertical)), view_(new SessionView) {
  setWindowTitle(QStringLiteral("Tensorferry"));
  setAcceptDrops(true);
  splitter_->addWidget(view_);
  setCentralWidget(splitter_);
  make_panels();
  make_details();
  make_status();
  make_menus();
  make_search();
  connect_view();
  QSettings settings;
  resize(options.size.value_or(QSize(1500, 950)));
  if (!options.size && options.keys.empty()) {
    restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    restoreState(settings.value(QStringLiteral("docks")).toByteArray());
  }
  const QString kept = options.keys.empty()
                           ? settings.value(QStringLiteral("theme"), QStringLiteral("auto")).toString()
                           : QStringLiteral("auto");
  apply_theme(options.theme == "auto" ? kept : QString::fromStdString(options.theme));
  connect(&spools_, &SpoolFollower::made, this, [this](const QString& session) {
    const bool again = path_ == session && view_->overview() != nullptr;
    path_ = session;
    file_.watch(path_);
    view_->open(path_, again);
  });
  connect(&spools_, &SpoolFollower::failed, this, [this](const QString& why) {
    statusBar()->showMessage(QStringLiteral("nothing to follow yet: ") + why);
  });
  connect(&file_, &FileFollower::written, this, &MainWindow::follow);
}

void MainWindow::connect_view() {
  connect(view_, &SessionView::opened, this, [this] {
    const QString shown = spools_.is_active() ? spools_.path() : path_;
    setWindowTitle(QFileInfo(shown).fileName() + QStringLiteral(" — Tensorferry"));
    const Overview& overview = *view_->overview();
    statusBar()->showMessage(QStringLiteral("%1 events in %2")
                                 .arg(count_text(overview.events), duration_text(overview.range.length())));
    invalidate_panels();
    apply_range();
    view_->timeline()->setFocus();
  });
  connect(view_, &SessionView::failed, this, [this](const QString& what) { statusBar()->showMessage(what); });
  connect(view_, &SessionView::searched, this, &MainWindow::show_search);
  connect(view_, &SessionView::selection_changed, this, &MainWindow::selection_changed);
  connect(view_, &SessionView::facts_changed, this, &MainWindow::show_facts);
  connect(view_, &SessionView::report_ready, this, [this](const QString& name, const TablesPtr& tables) {
    if (ReportPanel* shown = panel(name)) shown->show_tables(tables);
  });
  connect(view_, &SessionView::report_failed, this, [this](const QString& name, const QString& why) {
    if (ReportPanel* shown = panel(name)) shown->show_message(why);
  });
  connect(view_, &SessionView::report_cancelled, this, [this](const QString& name) {
    fresh_.erase(name);
    if (ReportPanel* shown = panel(name))
      shown->show_message(QStringLiteral("cancelled; choosing the report again makes it"));
  });
  connect(view_->timeline(), &TimelineView::explanation_wanted, this, &MainWindow::explain);
  connect(view_->timeline(), &TimelineView::budget_clicked, this,
          [this] { show_panel(QStringLiteral("curve")); });
  connect(view_->timeline(), &TimelineView::view_changed, this, [this] {
    if (only_visible_->isChecked()) invalidate_panels();
  });
  connect(view_->timeline(), &TimelineView::measured, this, [this](TimeRange range) {
    statusBar()->showMessage(range.length() > 1 ? measure_text(*view_, range) : QString());
  });
}

ReportPanel* MainWindow::panel(const QString& report) const {
  for (int tab = 0; tab < tabs_->count(); ++tab) {
    if (tabs_->tabText(tab) == report) return qobject_cast<ReportPanel*>(tabs_->widget(tab));
  }
  return nullptr;
}

void MainWindow::show_panel(const QString& report) {
  panel_dock_->show();
  if (ReportPanel* shown = panel(report)) {
    tabs_->setCurrentWidget(shown);
    refresh_panel(tabs_->currentIndex());
    shown->filter()->setFocus();
  }
}

void MainWindow::invalidate_panels() {
  fresh_.clear();
  refresh_panel(tabs_->currentIndex());
}

void MainWindow::refresh_panel(int tab) {
  auto* shown = qobject_cast<ReportPanel*>(tabs_->widget(tab));
  if (!shown || !view_->overview() || fresh_[shown->name()]) return;
  fresh_[shown->name()] = true;
  if (shown->name() == QLatin1String(kCompare)) {
    if (below_ && below_->overview()) return view_->compare_with(below_->overview()->path);
    return shown->show_message(
        QStringLiteral("Ctrl+Shift+O opens a second session below this one; what differs is told here."));
  }
  if (shown->name() == QLatin1String(kWhy) && !tensor_.isEmpty()) return view_->explain(tensor_, plan_);
  if (shown->name() == QLatin1String(kPlan) && budget_ != 0) return view_->make_plan(budget_);
  view_->make_report(shown->name(), only_visible_->isChecked() ? view_->timeline()->visible() : TimeRange(),
                     plan_);
}

void MainWindow::row_chosen(const QString& report, const QMap<QString, QString>& cells,
                            const QString& column) {
  const QString plan = cells.value(QStringLiteral("plan"));
  if (!plan.isEmpty() && plan != QLatin1String("-")) return show_plan(plan.toLongLong());
  const QString budget = cells.value(QStringLiteral("budget"));
  if (report == QLatin1String("curve") && budget.toDouble() > 0)
    return dot_chosen(0, budget.toDouble(), cells.value(QStringLiteral("lookahead")).toDouble());
  if (column == QLatin1String("budget")) return show_panel(QStringLiteral("curve"));
  static const QRegularExpression named(QStringLiteral("panel (\\w+)"));  // in the words of advice
  const auto match = named.match(cells.value(QStringLiteral("what to do")));
  if (match.hasMatch() && panel(match.captured(1))) return show_panel(match.captured(1));
  if (!go_to_row(*view_, {report, cells, column}))
    statusBar()->showMessage(QStringLiteral("this row has no place on the time axis"), kMessageMs);
}

void MainWindow::show_plan(qint64 plan) {
  plan_ = plan;
  budget_ = 0;
  show_anew(kPlan);
}

void MainWindow::show_anew(const char* report) {
  fresh_.erase(QString::fromUtf8(report));
  if (ReportPanel* shown = panel(QString::fromUtf8(report))) shown->show_message(QStringLiteral("Reading …"));
  show_panel(QString::fromUtf8(report));
}

void MainWindow::explain(const QString& tensor) {
  tensor_ = tensor;
  show_anew(kWhy);
}

void MainWindow::dot_chosen(qint64 plan, double budget_bytes, double time_ns) {
  if (plan != 0) return show_plan(plan);
  statusBar()->showMessage(
      QStringLiteral("%1 under %2, simulated; no such plan is stored: one is made now")
          .arg(duration_text(static_cast<std::int64_t>(time_ns)), bytes_text(budget_bytes)));
  plan_ = 0;
  budget_ = static_cast<qint64>(budget_bytes);
  show_anew(kPlan);
}

void MainWindow::selection_changed() {
  auto* shown = qobject_cast<ReportPanel*>(tabs_->currentWidget());
  if (!shown || view_->facts().title.isEmpty()) return;
  if (view_->selection().event.table == EventTable::kContention) {
    shown->select_row(QStringLiteral("after start"),
                      QString::number(view_->selection().range.from_ns - view_->overview()->origin_ns));
  } else if (view_->facts().tensor.isEmpty() || !shown->select_row(view_->facts().tensor)) {
    shown->select_row(view_->facts().title);
  }
}

void MainWindow::show_facts() {
  details_->show_event(view_->facts(), view_->relations());
  selection_changed();
}

void MainWindow::show_search() {
  const SearchResult& result = view_->matches();
  if (!result.error.isEmpty()) {
    statusBar()->showMessage(QStringLiteral("no regular expression: ") + result.error);
  } else if (!result.pattern.isEmpty()) {
    statusBar()->showMessage(
        QStringLiteral("%1 names match; Enter goes to the next event").arg(result.names.size()));
    view_->step_match(1);
  }
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (event->text() == QLatin1String("/")) {
    search_->setFocus();
    search_->selectAll();
  } else if (event->text() == QLatin1String("t")) {
    tensors_->setFocus();
    tensors_->selectAll();
  } else if (event->text() == QLatin1String("?")) {
    show_keys();
  } else if (event->key() == Qt::Key_Escape) {
    view_->timeline()->setFocus();
  } else {
    QMainWindow::keyPressEvent(event);
  }
}

void MainWindow::show_keys() { KeyHelp::show_over(this); }

void MainWindow::open(const QString& path) {
  if (SpoolFollower::is_recording(path)) {
    statusBar()->showMessage(QStringLiteral("Following ") + path);
    return spools_.follow(path, QApplication::applicationDirPath() + QStringLiteral("/tferry"));
  }
  spools_.stop();
  path_ = path;
  plan_ = budget_ = 0;
  tensor_.clear();
  file_.watch(path_);
  add_recent(path);
  statusBar()->showMessage(QStringLiteral("Opening ") + path);
  view_->open(path);
}

void MainWindow::follow() {
  const bool again = view_->overview() != nullptr;
  statusBar()->showMessage(QStringLiteral("%1 was written anew").arg(QFileInfo(path_).fileName()),
                           kMessageMs);
  view_->open(path_, again);
}

void MainWindow::open_below(const QString& path) {
  if (!below_) {
    below_ = new SessionView;
    splitter_->addWidget(below_);
    below_->set_theme(view_->timeline()->scene().theme);
    connect(view_->timeline(), &TimelineView::view_changed, this, [this](TimeRange range) {
      if (below_->overview())
        below_->timeline()->show_beside(aligned(range, *view_->overview(), *below_->overview()));
    });
    connect(below_, &SessionView::opened, this, [this] {
      if (view_->overview())
        below_->timeline()->show_beside(
            aligned(view_->timeline()->visible(), *view_->overview(), *below_->overview()));
      fresh_.erase(QString::fromUtf8(kCompare));
      show_panel(QString::fromUtf8(kCompare));
      view_->timeline()->setFocus();
    });
  }
  below_->open(path);
}

void MainWindow::choose_file(bool below) {
  const QString path =
      QFileDialog::getOpenFileName(this, QStringLiteral("Open a session"), QFileInfo(path_).path(),
                                   QStringLiteral("Tensorferry sessions (*.tferry);;All files (*)"));
  if (path.isEmpty()) return;
  below ? open_below(path) : open(path);
}

void MainWindow::add_recent(const QString& path) {
  QSettings settings;
  QStringList paths = settings.value(QStringLiteral("recent")).toStringList();
  if (!path.isEmpty() && options_.keys.empty()) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    paths.removeAll(absolute);
    paths.prepend(absolute);
    paths = paths.mid(0, kMostRecent);
    settings.setValue(QStringLiteral("recent"), paths);
  }
  recent_->clear();
  for (const QString& recent : paths) recent_->addAction(recent, this, [this, recent] { open(recent); });
  recent_->setEnabled(!paths.isEmpty());
}

void MainWindow::export_picture() {
  if (!view_->overview()) return;
  const QString file =
      QFileDialog::getSaveFileName(this, QStringLiteral("Export picture"), QStringLiteral("timeline.png"),
                                   QStringLiteral("PNG (*.png);;SVG (*.svg)"));
  if (file.isEmpty()) return;
  try {
    std::vector<Scene> scenes = {view_->timeline()->scene()};
    if (below_ && below_->overview()) scenes.push_back(below_->timeline()->scene());
    export_scenes(scenes, file.toStdString(), splitter_->size(), true);  // the dialog asked already
    statusBar()->showMessage(QStringLiteral("Written: ") + file);
  } catch (const cli::Failure& failure) {
    QMessageBox::warning(
        this, QStringLiteral("Not written"),
        QString::fromUtf8(failure.what()) + QStringLiteral("\n") + QString::fromStdString(failure.remedy()));
  }
}

void MainWindow::apply_range() {
  if (options_.from.empty() && options_.to.empty()) return;
  try {
    view_->timeline()->show_range(asked_range(options_, *view_->overview()));
  } catch (const cli::Failure& failure) {
    statusBar()->showMessage(QString::fromUtf8(failure.what()));
  }
}

void MainWindow::apply_theme(const QString& name) {
  const Theme theme = chosen_theme(name);
  QApplication::setPalette(palette_of(theme));
  view_->set_theme(theme);
  if (below_) below_->set_theme(theme);
}

bool MainWindow::is_settled() const {
  return (view_->is_settled() || view_->has_failed()) && (!below_ || below_->is_settled());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (options_.keys.empty() && !options_.size) {
    QSettings settings;
    settings.setValue(QStringLiteral("geometry"), saveGeometry());
    settings.setValue(QStringLiteral("docks"), saveState());
  }
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (!urls.isEmpty()) open(urls.front().toLocalFile());
  if (urls.size() > 1) open_below(urls[1].toLocalFile());
}

}  // namespace tferry::gui
