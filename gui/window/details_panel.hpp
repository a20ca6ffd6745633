#pragma once

#include "gui/session/event_facts.hpp"
#include "gui/session/relations.hpp"

#include <QTableWidget>

#include <vector>

namespace tferry::gui {

/// Everything about the selected event, and the events that it is tied to: Enter or a double click goes
/// there. Ctrl+C copies all of it as CSV.
class DetailsPanel : public QTableWidget {
  Q_OBJECT

 public:
  explicit DetailsPanel(QWidget* parent = nullptr);

  void show_event(const EventFacts& facts, const std::vector<Relation>& relations);
  /// Of the event that is shown (RFC 4180); empty while none is.
  QString csv() const;
  /// To the clipboard.
  void copy() const;

 Q_SIGNALS:
  /// To the related event of that number.
  void relation_chosen(int index);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace tferry::gui
