#pragma once

#include "gui/window/session_view.hpp"

#include <QMap>
#include <QString>

namespace tferry::gui {

/// A chosen row of a report: plain values by the heads of their columns.
struct ChosenRow {
  QString report;
  QMap<QString, QString> cells;
  QString column;  ///< head of the chosen cell
};

/// Goes to what a row is about: a window of contention, the lane of a tensor or of copies, the memory peak,
/// the first event of a name. False for rows that are about nothing on the time axis.
bool go_to_row(SessionView& view, const ChosenRow& row);

/// The lane of the copies that a row of report transfers sums up; -1: there is none.
int copies_lane(const Overview& overview, const ChosenRow& row);

}  // namespace tferry::gui
