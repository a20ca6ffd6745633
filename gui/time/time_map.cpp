#include "gui/time/time_map.hpp"

#include <algorithm>
#include <cmath>

namespace tferry::gui {
namespace {

constexpr double kShortest = 10;  // ns visible
constexpr double kMargin = 0.05;  // of the session, left and right of it
constexpr double kFrameMargin = 0.1;

}  // namespace

TimeMap::TimeMap(TimeRange session, double width)
    : session_(session), origin_(session.from_ns), width_(std::max(1.0, width)) {
  session_.to_ns = std::max(session_.to_ns, session_.from_ns + 1);
  const auto length = static_cast<double>(session_.length());
  from_ = -length * 0.01;
  span_ = length * 1.02;
  *this = clamped();
}

TimeRange TimeMap::visible() const { return {time_at(0), time_at(width_)}; }

std::int64_t TimeMap::time_at(double x) const {
  return origin_ + static_cast<std::int64_t>(std::llround(from_ + x * ns_per_pixel()));
}

TimeMap TimeMap::with_width(double width) const {
  TimeMap map = *this;
  map.width_ = std::max(1.0, width);
  return map;
}

TimeMap TimeMap::showing(TimeRange range) const {
  TimeMap map = *this;
  map.from_ = static_cast<double>(range.from_ns - origin_);
  map.span_ = static_cast<double>(std::max<std::int64_t>(1, range.length()));
  return map.clamped();
}

TimeMap TimeMap::framing(TimeRange range) const {
  const auto margin = static_cast<std::int64_t>(static_cast<double>(range.length()) * kFrameMargin) + 1;
  return showing({range.from_ns - margin, range.to_ns + margin});
}

TimeMap TimeMap::zoomed(double factor, double x) const {
  TimeMap map = *this;
  const double longest = static_cast<double>(session_.length()) * (1 + 2 * kMargin);
  map.span_ = std::clamp(span_ * factor, std::min(kShortest, longest), longest);
  map.from_ = from_ + x / width_ * (span_ - map.span_);
  return map.clamped();
}

TimeMap TimeMap::moved(double pixels) const {
  TimeMap map = *this;
  map.from_ += pixels * ns_per_pixel();
  return map.clamped();
}

TimeMap TimeMap::clamped() const {
  TimeMap map = *this;
  const auto length = static_cast<double>(session_.length());
  const double longest = length * (1 + 2 * kMargin);
  if (map.span_ < kShortest && longest > kShortest) {
    map.from_ -= (kShortest - map.span_) / 2;
    map.span_ = kShortest;
  }
  map.span_ = std::min(map.span_, longest);
  const double margin = std::max(length * kMargin, 0.0);
  const double room = std::min(margin, map.span_ / 2);
  map.from_ = std::clamp(map.from_, -room - (map.span_ > length ? margin : 0),
                         std::max(-room, length + room - map.span_));
  return map;
}

}  // namespace tferry::gui
