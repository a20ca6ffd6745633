#include "gui/time/time_text.hpp"

#include <QLocale>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace tferry::gui {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

/// Three significant digits below a thousand.
QString scaled(double value, const char* unit) {
  const double size = std::abs(value);
  const int decimals = size >= 100 || value == std::floor(value) ? 0 : size >= 10 ? 1 : 2;
  return QString::number(value, 'f', decimals) + QChar(0x202f) + QString::fromUtf8(unit);
}

constexpr std::array kTimes = {Scale{1e9, "s"}, Scale{1e6, "ms"}, Scale{1e3, "µs"}, Scale{1, "ns"}};

}  // namespace

QString duration_text(std::int64_t ns) {
  for (const Scale& scale : kTimes) {
    if (static_cast<double>(std::abs(ns)) >= scale.factor || scale.factor == 1)
      return scaled(static_cast<double>(ns) / scale.factor, scale.unit);
  }
  return {};
}

QString moment_text(std::int64_t ns, double resolution_ns) {
  const auto span = static_cast<double>(std::abs(ns));
  const Scale scale = span >= 1e9 ? kTimes[0] : span >= 1e6 ? kTimes[1] : span >= 1e3 ? kTimes[2] : kTimes[3];
  const int decimals = static_cast<int>(
      std::clamp(std::ceil(std::log10(scale.factor / std::max(1.0, resolution_ns))), 0.0, 9.0));
  return QString::number(static_cast<double>(ns) / scale.factor, 'f', scale.factor == 1 ? 0 : decimals) +
         QChar(0x202f) + QString::fromUtf8(scale.unit);
}

QString bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return scaled(bytes, kUnits[unit]);
}

QString rate_text(double bytes_per_second) {
  constexpr std::array kScales = {Scale{1e9, "GB/s"}, Scale{1e6, "MB/s"}, Scale{1e3, "kB/s"},
                                  Scale{1, "B/s"}};
  for (const Scale& scale : kScales) {
    if (bytes_per_second >= scale.factor) return scaled(bytes_per_second / scale.factor, scale.unit);
  }
  return QStringLiteral("0 B/s");
}

QString count_text(std::int64_t count) {
  return QLocale(QLocale::English).toString(static_cast<qlonglong>(count));
}

Ticks ticks_of(const TimeMap& map, std::int64_t origin_ns, double pixels_apart) {
  const double wanted = map.ns_per_pixel() * pixels_apart;
  const double power = std::pow(10.0, std::floor(std::log10(std::max(1.0, wanted))));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= wanted) {
      step = power * factor;
      break;
    }
  }
  Ticks ticks;
  ticks.step_ns = std::max<std::int64_t>(1, std::llround(step));
  const TimeRange visible = map.visible();
  std::int64_t number = (visible.from_ns - origin_ns) / ticks.step_ns - 1;
  for (;; ++number) {
    const std::int64_t time = origin_ns + number * ticks.step_ns;
    if (time > visible.to_ns) break;
    if (time >= visible.from_ns) ticks.times.push_back(time);
  }
  return ticks;
}

}  // namespace tferry::gui
