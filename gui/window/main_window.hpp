#pragma once

#include "gui/app/options.hpp"
#include "gui/window/report_panel.hpp"
#include "gui/window/session_view.hpp"
#include "gui/window/spool_follower.hpp"

#include <QAction>
#include <QDateTime>
#include <QDockWidget>
#include <QFileSystemWatcher>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QSplitter>
#include <QTabWidget>
#include <QTableWidget>
#include <QTimer>

#include <map>
#include <utility>

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
  QTableWidget* details() const { return details_; }
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
  void make_menus();
  void make_search();
  void connect_view();
  void apply_theme(const QString& name);
  void refresh_panel(int tab);
  void invalidate_panels();
  void row_chosen(const QString& report, const QMap<QString, QString>& cells, const QString& column);
  /// Report plan, about that one.
  void show_plan(qint64 plan);
  void dot_chosen(qint64 plan, double budget_bytes, double time_ns);
  void watch();
  /// Opens the session again if it was replaced.
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
  QTableWidget* details_;
  QLineEdit* search_;
  QMenu* recent_;
  QAction* only_visible_;
  QDockWidget* panel_dock_;
  QDockWidget* details_dock_;
  QFileSystemWatcher watcher_;
  QTimer reload_;
  std::pair<QDateTime, qint64> seen_;  ///< when the file was written, and its size
  qint64 plan_ = 0;                    ///< that report plan tells about; 0: the newest
  std::map<QString, bool> fresh_;      ///< reports that are shown as they are now
  QString path_;
  SpoolFollower spools_;
};

}  // namespace tferry::gui
