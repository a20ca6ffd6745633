#pragma once

#include "cli/report/table.hpp"
#include "gui/session/event_facts.hpp"
#include "gui/session/open_session.hpp"
#include "gui/session/relations.hpp"
#include "gui/session/search.hpp"

#include <QObject>
#include <QString>

#include <atomic>
#include <memory>
#include <set>
#include <vector>

namespace tferry::gui {

using TablesPtr = std::shared_ptr<const std::vector<cli::Table>>;

/// Reads a session beside the window: lives in a thread of its own, takes orders by queued calls, hands over
/// immutable results by signal. A window has two of them, each with its own connection to the file: one reads
/// pictures and is never held up by the other, which answers questions.
///
/// Everything that can go wrong with the file becomes `failed`.
class SessionWorker : public QObject {
  Q_OBJECT

 public:
  /// Called from the window's thread: pictures of smaller numbers are not wanted any more.
  void want_only(quint64 number) { wanted_.store(number, std::memory_order_relaxed); }
  /// What it is at; the window's thread looks, and may cancel: opening a session then fails, a report is told
  /// to be cancelled, a search finds nothing.
  Progress& progress() { return progress_; }

 public Q_SLOTS:
  void open(const QString& path);
  /// The same for the second worker, which is spared what the first has found out.
  void open_like(const QString& path, tferry::gui::OverviewPtr overview);
  /// `number` comes back with the picture; nothing comes back for one that was cancelled.
  void read_picture(tferry::gui::TimeRange range, double ns_per_pixel, const std::set<int>& tensors,
                    quint64 number);
  void read_facts(tferry::gui::EventRef event, quint64 number);
  /// Which event of a lane is at a time: for clicks on summaries.
  void find_at(int lane, qint64 time, qint64 within_ns, int row);
  void read_relations(tferry::gui::EventRef event);
  /// The window of contention that begins then.
  void find_window(qint64 start_ns);
  /// The window in which a GPU (its number) lost most to that side.
  void find_worst_window(qint64 victim_gpu, const QString& culprit);
  void search(const QString& pattern);
  /// The next (step 1) or previous (-1) event after a time: of these names, or with none of that lane.
  void find_next(std::vector<std::int64_t> names, int lane, qint64 time, int step);
  /// `plan`: the one that report "plan" tells about, 0: the newest.
  void make_report(const QString& name, tferry::gui::TimeRange range, qint64 plan);
  /// Report "why": of a plan, 0 for the newest that moves the tensor.
  void explain(const QString& tensor, qint64 plan);
  /// Report "plan", of one that is made for this budget and stored nowhere.
  void make_plan(qint64 budget_bytes);
  /// Report "compare": this session above, that one below.
  void compare_with(const QString& path);

 Q_SIGNALS:
  void opened(tferry::gui::OverviewPtr overview, std::shared_ptr<const tferry::gui::NameBook> names);
  void failed(const QString& what, const QString& remedy);
  void picture_ready(tferry::gui::PicturePtr picture, quint64 number);
  void facts_ready(tferry::gui::EventFacts facts, quint64 number);
  void relations_ready(tferry::gui::EventRef of, std::vector<tferry::gui::Relation> relations);
  void found(tferry::gui::FoundEvent event);
  void searched(tferry::gui::SearchResult result);
  void report_ready(const QString& name, tferry::gui::TablesPtr tables);
  void report_failed(const QString& name, const QString& why);
  void report_cancelled(const QString& name);

 private:
  template <typename Work>
  void guarded(Work&& work);
  /// Hands over what `make` makes as that report, or says why not. `steps`: of SQLite's machine for each
  /// event, about.
  template <typename Make>
  void report(const QString& name, const QString& what, double steps, Make&& make);
  /// From now on the window's thread goes first where cores are few.
  void give_way();

  double events() const;

  std::unique_ptr<OpenSession> session_;
  std::atomic<quint64> wanted_ = 0;
  Progress progress_;
  bool gives_way_ = false;
};

}  // namespace tferry::gui
