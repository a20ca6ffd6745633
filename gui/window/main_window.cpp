#include "gui/window/main_window.hpp"

#include "cli/failure.hpp"
#include "cli/report/scope.hpp"
#include "gui/app/screenshot.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/time/time_text.hpp"
#include "gui/window/key_help.hpp"
#include "gui/window/row_navigation.hpp"
#include "gui/window/theme_choice.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QTimer>
#include <QToolBar>
#include <QUrl>

#include <algorithm>

namespace tferry::gui {
namespace {

constexpr int kMostRecent = 10;
constexpr int kReloadDelayMs = 300;  // a file is written in several steps
constexpr int kMessageMs = 4000;
constexpr const char* kCompare = "compare";  // the report about two sessions

}  // namespace

MainWindow::MainWindow(const Options& options, QWidget* parent)
    : QMainWindow(parent), options_(options), splitter_(new QSplitter(Qt::Vertical)), view_(new SessionView) {
  setWindowTitle(QStringLiteral("Tensorferry"));
  setAcceptDrops(true);
  splitter_->addWidget(view_);
  setCentralWidget(splitter_);
  make_panels();
  make_details();
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
    watch();
    view_->open(path_, again);
  });
  connect(&spools_, &SpoolFollower::failed, this, [this](const QString& why) {
    statusBar()->showMessage(QStringLiteral("nothing to follow yet: ") + why);
  });
  reload_.setSingleShot(true);
  reload_.setInterval(kReloadDelayMs);
  connect(&reload_, &QTimer::timeout, this, &MainWindow::follow);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, &reload_, qOverload<>(&QTimer::start));
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, &reload_, qOverload<>(&QTimer::start));
}

void MainWindow::make_panels() {
  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  tabs_->setAccessibleName(QStringLiteral("Reports"));
  for (const cli::ReportKind& kind : panel_reports()) add_panel(kind.name, kind.what);
  add_panel(kCompare, "what differs from the session below");
  connect(tabs_, &QTabWidget::currentChanged, this, &MainWindow::refresh_panel);
  panel_dock_ = new QDockWidget(QStringLiteral("Reports"));
  panel_dock_->setObjectName(QStringLiteral("reports"));
  panel_dock_->setWidget(tabs_);
  addDockWidget(Qt::BottomDockWidgetArea, panel_dock_);
  resizeDocks({panel_dock_}, {280}, Qt::Vertical);
}

void MainWindow::add_panel(const char* name, const char* what) {
  auto* panel = new ReportPanel(QString::fromUtf8(name));
  connect(panel, &ReportPanel::row_chosen, this, &MainWindow::row_chosen);
  connect(panel, &ReportPanel::dot_chosen, this, &MainWindow::dot_chosen);
  const int tab = tabs_->addTab(panel, QString::fromUtf8(name));
  tabs_->setTabToolTip(tab, QString::fromUtf8(what));
}

void MainWindow::make_details() {
  details_ = new QTableWidget(0, 2);
  details_->horizontalHeader()->hide();
  details_->horizontalHeader()->setStretchLastSection(true);
  details_->verticalHeader()->hide();
  details_->setShowGrid(false);
  details_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  details_->setAccessibleName(QStringLiteral("The selected event"));
  connect(details_, &QTableWidget::itemActivated, this, [this](const QTableWidgetItem* item) {
    const QVariant index = item->data(Qt::UserRole);
    if (!index.isValid() || index.toUInt() >= view_->relations().size()) return;
    view_->timeline()->select(FoundEvent(view_->relations()[index.toUInt()].event));
  });
  details_dock_ = new QDockWidget(QStringLiteral("Selected"));
  details_dock_->setObjectName(QStringLiteral("details"));
  details_dock_->setWidget(details_);
  addDockWidget(Qt::RightDockWidgetArea, details_dock_);
  resizeDocks({details_dock_}, {330}, Qt::Horizontal);
}

void MainWindow::make_menus() {
  QMenu* file = menuBar()->addMenu(QStringLiteral("&File"));
  file->addAction(QStringLiteral("&Open …"), QKeySequence(QKeySequence::Open), this,
                  [this] { choose_file(false); });
  file->addAction(QStringLiteral("Open &below, to compare …"), QKeySequence(QStringLiteral("Ctrl+Shift+O")),
                  this, [this] { choose_file(true); });
  recent_ = file->addMenu(QStringLiteral("&Recent"));
  add_recent({});
  file->addAction(QStringLiteral("&Export picture …"), QKeySequence(QStringLiteral("Ctrl+E")), this,
                  &MainWindow::export_picture);
  file->addSeparator();
  file->addAction(QStringLiteral("&Quit"), QKeySequence(QKeySequence::Quit), this, &QWidget::close);
  QMenu* look = menuBar()->addMenu(QStringLiteral("&View"));
  for (const char* theme : {"auto", "light", "dark"}) {
    const QString name = QString::fromUtf8(theme);
    look->addAction(QStringLiteral("Colours: ") + name, this, [this, name] {
      QSettings().setValue(QStringLiteral("theme"), name);
      apply_theme(name);
    });
  }
  look->addSeparator();
  only_visible_ = look->addAction(QStringLiteral("Reports about what is visible only"));
  only_visible_->setCheckable(true);
  only_visible_->setShortcut(QKeySequence(QStringLiteral("Ctrl+R")));
  connect(only_visible_, &QAction::toggled, this, &MainWindow::invalidate_panels);
  look->addAction(panel_dock_->toggleViewAction());
  look->addAction(details_dock_->toggleViewAction());
  QMenu* go = menuBar()->addMenu(QStringLiteral("&Reports"));
  for (int tab = 0; tab < tabs_->count(); ++tab) {
    const QString name = tabs_->tabText(tab);
    QAction* action = go->addAction(name, this, [this, name] { show_panel(name); });
    if (tab < 9) action->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(tab + 1)));
  }
  QMenu* help = menuBar()->addMenu(QStringLiteral("&Help"));
  help->addAction(QStringLiteral("&Keys"), this, &MainWindow::show_keys);
}

void MainWindow::make_search() {
  QToolBar* bar = addToolBar(QStringLiteral("Search"));
  bar->setObjectName(QStringLiteral("search"));
  bar->setMovable(false);
  search_ = new QLineEdit;
  search_->setPlaceholderText(QStringLiteral("Search names by regular expression  ( / )"));
  search_->setAccessibleName(QStringLiteral("Search"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(520);
  bar->addWidget(search_);
  connect(search_, &QLineEdit::returnPressed, this, [this] {
    // A new pattern selects its first match when it is found.
    view_->matches().pattern == search_->text() ? view_->step_match(1) : view_->search(search_->text());
  });
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (text.isEmpty()) view_->search({});
  });
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
  view_->make_report(shown->name(), only_visible_->isChecked() ? view_->timeline()->visible() : TimeRange(),
                     plan_);
}

void MainWindow::row_chosen(const QString& report, const QMap<QString, QString>& cells,
                            const QString& column) {
  const QString plan = cells.value(QStringLiteral("plan"));
  if (!plan.isEmpty() && plan != QLatin1String("-")) return show_plan(plan.toLongLong());
  if (!go_to_row(*view_, {report, cells, column}))
    statusBar()->showMessage(QStringLiteral("this row has no place on the time axis"), kMessageMs);
}

void MainWindow::show_plan(qint64 plan) {
  plan_ = plan;
  fresh_.erase(QStringLiteral("plan"));
  show_panel(QStringLiteral("plan"));
}

void MainWindow::dot_chosen(qint64 plan, double budget_bytes, double time_ns) {
  if (plan != 0) return show_plan(plan);
  statusBar()->showMessage(
      QStringLiteral("%1 under %2, simulated; no such plan is stored: tferry analyze --budget %3 %4")
          .arg(duration_text(static_cast<std::int64_t>(time_ns)), bytes_text(budget_bytes))
          .arg(static_cast<qint64>(budget_bytes))
          .arg(path_));
}

void MainWindow::selection_changed() {
  auto* shown = qobject_cast<ReportPanel*>(tabs_->currentWidget());
  if (!shown || view_->facts().title.isEmpty()) return;
  if (view_->selection().event.table == EventTable::kContention) {
    shown->select_row(QStringLiteral("after start"),
                      QString::number(view_->selection().range.from_ns - view_->overview()->origin_ns));
  } else {
    shown->select_row(view_->facts().title);
  }
}

void MainWindow::show_facts() {
  const EventFacts& facts = view_->facts();
  details_->clearSpans();
  details_->setRowCount(0);
  const std::vector<Relation>& relations = view_->relations();
  details_->setRowCount(static_cast<int>(facts.facts.size() + relations.size()) + 1);
  int row = 0;
  for (const auto& [name, value] : facts.facts) {
    details_->setItem(++row, 0, new QTableWidgetItem(name));
    details_->setItem(row, 1, new QTableWidgetItem(value));
  }
  for (std::size_t i = 0; i < relations.size(); ++i) {
    details_->setItem(++row, 0, new QTableWidgetItem(QStringLiteral("→")));
    auto* item = new QTableWidgetItem(relations[i].text);
    item->setData(Qt::UserRole, static_cast<int>(i));
    item->setToolTip(QStringLiteral("Enter or a double click goes there"));
    details_->setItem(row, 1, item);
  }
  details_->resizeColumnToContents(0);  // before the title, which is longer and spans both
  auto* title = new QTableWidgetItem(facts.title);
  title->setToolTip(facts.title);
  QFont bold = title->font();
  bold.setBold(true);
  title->setFont(bold);
  details_->setSpan(0, 0, 1, 2);
  details_->setItem(0, 0, title);
  details_->resizeRowsToContents();
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
  plan_ = 0;
  watch();
  add_recent(path);
  statusBar()->showMessage(QStringLiteral("Opening ") + path);
  view_->open(path);
}

/// A session is published by renaming a whole file to its name: the watch on the file ends then, that on its
/// folder tells of it, also where the job still runs and there is no session yet.
void MainWindow::watch() {
  const QStringList old = watcher_.files() + watcher_.directories();
  if (!old.isEmpty()) watcher_.removePaths(old);
  const QFileInfo file(path_);
  if (file.exists()) watcher_.addPath(path_);
  if (QFileInfo(file.absolutePath()).isDir()) watcher_.addPath(file.absolutePath());
  seen_ = {file.lastModified(), file.size()};
}

void MainWindow::follow() {
  const QFileInfo file(path_);
  const std::pair<QDateTime, qint64> now{file.lastModified(), file.size()};
  if (!file.exists() || now == seen_) return;
  const bool again = view_->overview() != nullptr;
  watch();
  statusBar()->showMessage(QStringLiteral("%1 was written anew").arg(file.fileName()), kMessageMs);
  view_->open(path_, again);
}

void MainWindow::open_below(const QString& path) {
  if (!below_) {
    below_ = new SessionView;
    splitter_->addWidget(below_);
    below_->set_theme(view_->timeline()->scene().theme);
    connect(view_->timeline(), &TimelineView::view_changed, this, [this](TimeRange range) {
      if (below_->overview())
        below_->timeline()->show_range(aligned(range, *view_->overview(), *below_->overview()));
    });
    connect(below_, &SessionView::opened, this, [this] {
      if (view_->overview())
        below_->timeline()->show_range(
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
    export_scene(view_->timeline()->scene(), file.toStdString(), view_->size(),
                 true);  // the dialog asked already
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
