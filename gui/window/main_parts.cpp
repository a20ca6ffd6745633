#include "gui/report/panel_reports.hpp"
#include "gui/window/main_window.hpp"

#include <QMenuBar>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>

#include <vector>

// What the window consists of: docks, menus, the lines above and below.

namespace tferry::gui {

void MainWindow::make_panels() {
  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  tabs_->setAccessibleName(QStringLiteral("Reports"));
  tabs_->tabBar()->setAccessibleName(QStringLiteral("Reports"));
  for (const cli::ReportKind& kind : panel_reports()) add_panel(kind.name, kind.what);
  add_panel("compare", "what differs from the session below");
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
  connect(panel, &ReportPanel::explanation_wanted, this, &MainWindow::explain);
  const int tab = tabs_->addTab(panel, QString::fromUtf8(name));
  tabs_->setTabToolTip(tab, QString::fromUtf8(what));
}

void MainWindow::make_details() {
  details_ = new DetailsPanel;
  connect(details_, &DetailsPanel::relation_chosen, this, [this](int index) {
    const auto place = static_cast<std::size_t>(index);
    if (place >= view_->relations().size()) return;
    view_->timeline()->select(FoundEvent(view_->relations()[place].event));
  });
  connect(view_->timeline(), &TimelineView::copy_wanted, details_, &DetailsPanel::copy);
  details_dock_ = new QDockWidget(QStringLiteral("Selected"));
  details_dock_->setObjectName(QStringLiteral("details"));
  details_dock_->setWidget(details_);
  addDockWidget(Qt::RightDockWidgetArea, details_dock_);
  resizeDocks({details_dock_}, {330}, Qt::Horizontal);
}

void MainWindow::make_status() {
  progress_ = new ProgressStrip;
  progress_->watch([this] {
    std::vector<Progress*> workers = view_->progress();
    if (below_) {
      const std::vector<Progress*> below = below_->progress();
      workers.insert(workers.end(), below.begin(), below.end());
    }
    if (spools_.is_active()) workers.push_back(&spools_.progress());
    return workers;
  });
  statusBar()->addPermanentWidget(progress_);
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
  file->addAction(QStringLiteral("&Cancel what is being worked on"), QKeySequence(QStringLiteral("Ctrl+.")),
                  this, [this] { progress_->cancel(); });
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
  look->addAction(QStringLiteral("Go to the selected event's &facts"), QKeySequence(QStringLiteral("Ctrl+D")),
                  this, [this] {
                    details_dock_->show();
                    details_->setFocus();
                  });
  look->addSeparator();
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
  bar->setAccessibleName(QStringLiteral("Search"));
  search_ = new QLineEdit;
  search_->setPlaceholderText(QStringLiteral("Search names by regular expression  ( / )"));
  search_->setAccessibleName(QStringLiteral("Search"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(520);
  bar->addWidget(search_);
  tensors_ = new QLineEdit;
  tensors_->setPlaceholderText(QStringLiteral("Filter tensors' lanes  ( T )"));
  tensors_->setAccessibleName(QStringLiteral("Filter tensors' lanes"));
  tensors_->setClearButtonEnabled(true);
  tensors_->setMaximumWidth(260);
  bar->addWidget(tensors_);
  connect(tensors_, &QLineEdit::textChanged, view_->timeline(), &TimelineView::set_tensor_filter);
  connect(tensors_, &QLineEdit::returnPressed, this, [this] { view_->timeline()->setFocus(); });
  connect(view_->timeline(), &TimelineView::tensor_filter_changed, tensors_, &QLineEdit::setText);
  connect(search_, &QLineEdit::returnPressed, this, [this] {
    // A new pattern selects its first match when it is found.
    view_->matches().pattern == search_->text() ? view_->step_match(1) : view_->search(search_->text());
  });
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (text.isEmpty()) view_->search({});
  });
}

}  // namespace tferry::gui
