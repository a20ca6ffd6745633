#pragma once

#include "gui/app/options.hpp"
#include "gui/window/details_panel.hpp"
#include "gui/window/file_follower.hpp"
#include "gui/window/progress_strip.hpp"
#include "gui/window/report_panel.hpp"
#include "gui/window/session_view.hpp"
#include "gui/window/spool_follower.hpp"

#include <QAction>
#include <QDockWidget>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QSplitter>
#include <QTabWidget>

#include <map>

namespace tferry::gui {

/// The window: a session's timeline, a second session below it when two are compared, the reports in tabs,
/// and everything about the selected event beside. Reports are made when their tab is first looked at. State
/// is kept between starts.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(const Options& options, QWidget* parent = nullptr);

  /// A session; or a recording that is still being written, which is followed.
  void open(const QString& path);
  /// Shows a second session below the first.
  void open_below(const QString& path);
  void show_panel(const QString& report);

  SessionView* view() const { return view_; }
  SpoolFollower& spools() { return spools_; }
  SessionView* below() const { return below_; }
  ReportPanel* panel(const QString& report) const;
  /// The report whose tab is in front.
  ReportPanel* front_panel() const { return qobject_cast<ReportPanel*>(tabs_->currentWidget()); }
  QLineEdit* search_line() const { return search_; }
  QLineEdit* tensor_line() const { return tensors_; }
  DetailsPanel* details() const { return details_; }
  ProgressStrip* progress() const { return progress_; }
  /// Report "why", about this tensor.
  void explain(const QString& tensor);
  /// Nothing is being read: pictures, answers and the visible report are there.
  bool is_settled() const;
  /// One is open, or is being opened.
  bool has_session() const { return !path_.isEmpty(); }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void make_panels();
  void add_panel(const char* name, const char* what);
  void make_details();
  void make_status();
  void make_menus();
  void make_search();
  void connect_view();
  void apply_theme(const QString& name);
  void refresh_panel(int tab);
  void invalidate_panels();
  void row_chosen(const QString& report, const QMap<QString, QString>& cells, const QString& column);
  /// Report plan, about that one.
  void show_plan(qint64 plan);
  /// A plan that is stored, or with 0 one that is made for that budget.
  void dot_chosen(qint64 plan, double budget_bytes, double time_ns);
  void show_anew(const char* report);
  /// Opens the session again, which was replaced.
  void follow();
  void selection_changed();
  void show_facts();
  void show_search();
  void show_keys();
  void choose_file(bool below);
  void add_recent(const QString& path);
  void export_picture();
  void apply_range();

  Options options_;
  QSplitter* splitter_;
  SessionView* view_;
  SessionView* below_ = nullptr;
  QTabWidget* tabs_;
  DetailsPanel* details_;
  QLineEdit* search_;
  QLineEdit* tensors_;
  ProgressStrip* progress_;
  QMenu* recent_;
  QAction* only_visible_;
  QDockWidget* panel_dock_;
  QDockWidget* details_dock_;
  FileFollower file_;
  qint64 plan_ = 0;                ///< that report plan tells about; 0: the newest
  qint64 budget_ = 0;              ///< or a plan for this budget, which is made; 0: none
  QString tensor_;                 ///< that report why tells about
  std::map<QString, bool> fresh_;  ///< reports that are shown as they are now
  QString path_;
  SpoolFollower spools_;
};

}  // namespace tferry::gui
