#pragma once

#include "gui/paint/scene.hpp"
#include "gui/session/event_facts.hpp"
#include "gui/session/search.hpp"

#include <QAbstractScrollArea>

#include <set>

namespace tferry::gui {

/// The timeline as a widget: paints the scene, turns mouse and keys into movements of the time axis, and asks
/// by signal for pictures of what it shows. Never waits: until a new picture comes, the last one is painted
/// at its new place.
///
/// Keys: W S zoom, A D and arrows move, F frames the selection, Home shows all, [ ] go to the previous and
/// next of the same kind, J goes to the kernel that waited for a transfer, K to what slowed it, Up and Down
/// choose a lane or the head of a group, Enter the lane's next event from the middle on, Space folds (with
/// Shift all GPUs), page keys scroll, P goes to the memory peak, M measures, X asks why a tensor moves, Esc
/// drops selection and measurement.
class TimelineView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  void set_session(OverviewPtr overview, std::shared_ptr<const NameBook> names);
  void set_theme(const Theme& theme);
  void set_picture(PicturePtr picture);
  void set_matching(std::unordered_set<std::int64_t> names);
  /// Arrows of an event; dropped if another one is selected by now.
  void set_relations(EventRef of, std::vector<Relation> relations);
  void show_range(TimeRange range);
  /// The same, also where that lies before or after the session: beside another one, aligned with it.
  void show_beside(TimeRange range);
  /// Shows a stretch of time with as much around it.
  void show_around(TimeRange range);
  /// Selects an event and brings it into view; zooms where it would be too small or too large to see.
  void select(const FoundEvent& found);
  /// The tooltip that the pointer still waits for.
  void show_facts(const EventFacts& facts);
  void show_memory_peak();
  /// Unfolds and selects the lane of a tensor, by its name or its number; false where it has none.
  bool show_tensor(const QString& name_or_number);
  /// Keeps to the tensors that have this in their names; empty: to all.
  void set_tensor_filter(const QString& text);
  /// Whose lane is selected, as plans name it; empty: none is.
  QString selected_tensor() const;
  /// Selects a lane and brings it into view.
  void show_lane(int lane);
  /// Takes a session again that was replaced on disk, and stays at the same place; at the end if that was
  /// shown.
  void set_session_again(OverviewPtr overview, std::shared_ptr<const NameBook> names);
  /// One movement: zoom by a factor around a place (0 left edge, 1 right), then move by a share of the width.
  void move_view(double factor, double around, double share);

  const Scene& scene() const { return scene_; }
  TimeRange visible() const { return scene_.time.visible(); }

 Q_SIGNALS:
  /// Of the lanes of tensors only these.
  void picture_wanted(tferry::gui::TimeRange range, double ns_per_pixel, std::set<int> tensors);
  /// Other than set_tensor_filter did it.
  void tensor_filter_changed(const QString& text);
  /// The budget's line in a lane of memory was clicked.
  void budget_clicked();
  /// The selected event was asked for as text.
  void copy_wanted();
  /// Why a tensor moves or stays was asked for.
  void explanation_wanted(const QString& tensor);
  void view_changed(tferry::gui::TimeRange visible);
  void selected(tferry::gui::FoundEvent event);
  void summary_clicked(int lane, qint64 time, qint64 within_ns, int row);
  void facts_wanted(tferry::gui::EventRef event);
  /// To the first relation of that kind.
  void relation_wanted(bool waiter);
  void step_wanted(int lane, qint64 name_id, qint64 time, int step);
  void measured(tferry::gui::TimeRange range);

 protected:
  bool event(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  void set_time(const TimeMap& map);
  void want_picture();
  void update_layout();
  void click(const QPoint& point);
  void pick(const Hit& hit);
  void choose_lane(int step);
  void fold(int group);
  void fold_selected();
  void fold_all();
  void measure_by_key();
  void bring_into_view(const TimelineLayout::Strip& strip);
  bool is_on_budget(int lane, int y) const;
  double pointer_x() const;
  QString brief_tooltip(const Hit& hit) const;

  Scene scene_;
  QString tensor_filter_;
  TimeRange wanted_;               ///< of the last picture asked for
  std::set<int> wanted_tensors_;   ///< whose lanes it has
  std::optional<TimeRange> mark_;  ///< measuring by key has begun there
  double wanted_resolution_ = 0;
  QPoint press_;
  bool dragging_ = false;  ///< measuring
  bool panning_ = false;   ///< with the middle button or Shift
  QPoint tooltip_at_;
  EventRef tooltip_for_;
  std::int64_t selected_name_ = 0;
};

}  // namespace tferry::gui
