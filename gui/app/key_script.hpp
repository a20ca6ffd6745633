#pragma once

#include "gui/window/main_window.hpp"

#include <QObject>
#include <QStringList>
#include <QTimer>

namespace tferry::gui {

/// Plays a script of keystrokes in a window, as a person would, and checks what they lead to: for tests of
/// the questions that the viewer answers, and for pictures. One command a line, # begins a comment:
///
///   step WORDS           one step of a person; at most `steps N` of them are allowed
///   key Ctrl+3           press a key, where the focus is
///   type TEXT            type into what has the focus
///   report NAME          choose a report
///   choose TEXT          Enter on the first row of the report with that text in a cell
///   current TEXT         makes that row the current one
///   expect panel NAME    this report is in front, and has rows
///   expect row TEXT      ... one of them has a cell with this text
///   expect current TEXT  the current row of the report has a cell with this text
///   expect selected TEXT the title of the selected event has this text
///   expect lane TEXT     the title of the selected lane has this text
///   expect related TEXT  an arrow of the selected event says so
///   expect chart N       the report has a chart with at least so many dots
///   expect message TEXT  the window says this instead of a timeline
///   picture FILE         write the window as PNG
///
/// After each command it waits until nothing is being read. Ends with `finished`.
class KeyScript : public QObject {
  Q_OBJECT

 public:
  /// Throws cli::Failure where the file cannot be read or holds a command that is none.
  KeyScript(MainWindow& window, const QString& file);

  void start();
  const QStringList& failures() const { return failures_; }

 Q_SIGNALS:
  void finished();

 private:
  void tick();
  bool run(const QString& line);
  void expect(const QString& what, const QString& text);
  void press(const QString& keys);
  /// The first cell with that text in the report in front, and the table that it is in.
  std::pair<QTableView*, QModelIndex> find_cell(const QString& text) const;
  bool is_current(const QString& text) const;
  void choose(const QString& text, bool enter);
  void fail(const QString& why);

  MainWindow& window_;
  QStringList lines_;
  qsizetype next_ = 0;
  int steps_ = 0, most_steps_ = 2;
  int quiet_ticks_ = 0, waited_ticks_ = 0;
  QStringList failures_;
  QTimer timer_;
};

}  // namespace tferry::gui
