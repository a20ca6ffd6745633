#pragma once

#include <cstdint>

namespace tferry::gui {

/// A half-open stretch of session time, in nanoseconds of the session's clock.
struct TimeRange {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;

  std::int64_t length() const { return to_ns - from_ns; }
  bool contains(std::int64_t time) const { return from_ns <= time && time < to_ns; }
  bool operator==(const TimeRange&) const = default;
};

/// Maps session time to pixels and back: the visible range over a width in pixels. A value; every movement
/// gives a new one. Between 10 ns and a tenth more than the whole session is visible, and some of the
/// session always is.
class TimeMap {
 public:
  /// `session` is all there is; the map shows all of it.
  TimeMap(TimeRange session, double width);

  const TimeRange& session() const { return session_; }
  TimeRange visible() const;
  double width() const { return width_; }
  double ns_per_pixel() const { return span_ / width_; }

  double x_of(std::int64_t time) const {
    return (static_cast<double>(time - origin_) - from_) / ns_per_pixel();
  }
  std::int64_t time_at(double x) const;

  TimeMap with_width(double width) const;
  TimeMap showing(TimeRange range) const;
  /// The same with a tenth of room on both sides.
  TimeMap framing(TimeRange range) const;
  /// Shows `factor` times as much time; what is at `x` stays there.
  TimeMap zoomed(double factor, double x) const;
  /// Shows what is `pixels` further right.
  TimeMap moved(double pixels) const;

 private:
  TimeMap clamped() const;

  TimeRange session_;
  std::int64_t origin_ = 0;  ///< positions are relative to it, so that doubles hold single nanoseconds
  double from_ = 0;          ///< left edge, ns after the origin
  double span_ = 1;          ///< visible, ns
  double width_ = 1;
};

}  // namespace tferry::gui
