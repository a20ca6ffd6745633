#pragma once

#include "gui/window/session_link.hpp"
#include "gui/window/timeline_view.hpp"

#include <QLabel>
#include <QProgressBar>
#include <QStackedWidget>
#include <QTimer>
#include <QWidget>

#include <functional>
#include <vector>

namespace tferry::gui {

/// One session in a window: its warnings, its timeline, and the two workers that read it. What goes wrong
/// with the file is shown in the timeline's place.
class SessionView : public QWidget {
  Q_OBJECT

 public:
  explicit SessionView(QWidget* parent = nullptr);

  /// Again after the file was replaced: stays at the same place.
  void open(const QString& path, bool again = false);
  /// Gives up opening; the window says so.
  void cancel();
  /// Of its workers.
  std::vector<Progress*> progress();
  void search(const QString& pattern);
  /// To the next (1) or previous (-1) match of the search.
  void step_match(int step);
  /// To the first event of a lane.
  void go_to_first(int lane);
  void go_to_window(std::int64_t start_ns);
  void go_to_worst_window(std::int64_t victim_gpu, const QString& culprit);
  void make_report(const QString& name, TimeRange range, std::int64_t plan = 0);
  /// Report "why": why a plan (0: the newest that does) moves a tensor.
  void explain(const QString& tensor, std::int64_t plan);
  /// Report "plan", of one for this budget that is made now.
  void make_plan(std::int64_t budget_bytes);
  /// Report "compare", with that session below.
  void compare_with(const QString& path);
  void set_theme(const Theme& theme);

  TimelineView* timeline() const { return timeline_; }
  const OverviewPtr& overview() const { return overview_; }
  const SearchResult& matches() const { return matches_; }
  const EventFacts& facts() const { return facts_; }
  /// Of the selected event; empty until they are known.
  const std::vector<Relation>& relations() const { return timeline_->scene().relations; }
  const FoundEvent& selection() const { return selection_; }
  bool has_failed() const { return stack_->currentIndex() == 1; }
  /// It takes so long that the window shows it.
  bool is_opening() const { return stack_->currentIndex() == 2; }
  QString message() const { return message_->text(); }
  const QString& failure() const { return failure_; }  ///< the same without a remedy and without markup
  /// The newest picture shows what is visible, and nothing is on its way.
  bool is_settled() const { return overview_ && shown_number_ == picture_number_ && pending_answers_ == 0; }

 Q_SIGNALS:
  void opened();
  void failed(const QString& what);
  void searched();
  void settled();
  void selection_changed();
  void facts_changed();
  void report_ready(const QString& name, tferry::gui::TablesPtr tables);
  void report_failed(const QString& name, const QString& why);
  void report_cancelled(const QString& name);

 private:
  QWidget* make_opening_page();
  void connect_workers();
  void connect_timeline();
  void show_failure(const QString& what, const QString& remedy);
  void estimate(std::function<void(SessionWorker&)> order);
  void ask(std::function<void(SessionWorker&)> order);
  void answered();

  QLabel* warnings_;
  QStackedWidget* stack_;
  TimelineView* timeline_;
  QLabel* message_;
  QLabel* opening_;
  QProgressBar* opening_bar_;
  QTimer opening_look_;
  QTimer opening_timer_;
  bool again_ = false;
  QString failure_;
  OverviewPtr overview_;
  std::shared_ptr<const NameBook> names_;
  SearchResult matches_;
  EventFacts facts_;
  FoundEvent selection_;
  quint64 picture_number_ = 0, shown_number_ = 0;
  int pending_answers_ = 0;
  bool frame_found_ = false;  ///< what is found next is to be framed
  SessionLink pictures_;      ///< last, so that their threads end first
  SessionLink answers_;
  SessionLink estimates_;  ///< reports that take seconds, so that no other answer waits for them
};

}  // namespace tferry::gui
