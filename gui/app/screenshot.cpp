#include "gui/app/screenshot.hpp"

#include "cli/failure.hpp"
#include "cli/output_file.hpp"
#include "cli/report/scope.hpp"
#include "gui/paint/timeline_painter.hpp"
#include "gui/session/open_session.hpp"
#include "gui/window/theme_choice.hpp"

#include <QBuffer>
#include <QImage>
#include <QSvgGenerator>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace tferry::gui {
namespace {

constexpr int kUsualWidth = 1920;

bool is_svg(const std::string& file) { return file.ends_with(".svg"); }

/// Below each other, each in its share of the height.
void paint(QPainter& painter, const std::vector<Scene>& scenes, const QSize& size) {
  int all = 0, y = 0, done = 0;
  for (const Scene& scene : scenes) all += page_height(scene);
  for (const Scene& scene : scenes) {
    done += page_height(scene);
    const int bottom = static_cast<int>(static_cast<std::int64_t>(size.height()) * done / std::max(1, all));
    painter.save();
    painter.translate(0, y);
    painter.setClipRect(0, 0, size.width(), bottom - y);
    paint_page(painter, scene, QSize(size.width(), bottom - y));
    painter.restore();
    y = bottom;
  }
}

QByteArray png(const std::vector<Scene>& scenes, const QSize& size) {
  QImage image(size, QImage::Format_RGB32);
  QPainter painter(&image);
  paint(painter, scenes, size);
  painter.end();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return bytes;
}

QByteArray svg(const std::vector<Scene>& scenes, const QSize& size) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(0, 0), size));
  generator.setTitle(QStringLiteral("Tensorferry"));
  QPainter painter(&generator);
  paint(painter, scenes, size);
  painter.end();
  return bytes;
}

Scene scene_of(const OpenSession& open, const Theme& theme, int width, TimeRange range) {
  Scene scene;
  scene.overview = open.overview;
  scene.names = open.names;
  scene.theme = theme;
  scene.folded = folded_at_first(*scene.overview);
  scene.layout = TimelineLayout(*scene.overview, scene.folded);
  // Of a session that is aligned with another one it may lie before its begin or after its end.
  const TimeRange all = scene.overview->range;
  const TimeRange both{std::min(all.from_ns, range.from_ns), std::max(all.to_ns, range.to_ns)};
  scene.time = TimeMap(both, lanes_width(width)).showing(range);
  return scene;
}

/// Tensors are shown, too, where there is room for them.
void fill(Scene& scene, const OpenSession& open, int height) {
  if (page_height(scene) < height && !scene.folded.empty()) {
    scene.folded.clear();
    scene.layout = TimelineLayout(*scene.overview, {});
  }
  scene.picture = open.reader->read(scene.time.visible(), scene.time.ns_per_pixel(), {},
                                    scene.layout.tensors_between(*scene.overview, 0, height));
}

}  // namespace

TimeRange asked_range(const Options& options, const Overview& overview) {
  const TimeRange all = overview.range;
  TimeRange range = options.from.empty() && options.to.empty() ? overview.shown_first : all;
  if (!options.from.empty()) range.from_ns = overview.origin_ns + cli::parse_duration(options.from, "--from");
  if (!options.to.empty()) range.to_ns = overview.origin_ns + cli::parse_duration(options.to, "--to");
  if (range.from_ns >= range.to_ns || range.from_ns >= all.to_ns || range.to_ns <= all.from_ns) {
    throw cli::Failure(
        fmt::format("--from {} --to {}: nothing of the session lies there", options.from, options.to),
        fmt::format("events lie from {}ns to {}ns after its start", all.from_ns - overview.origin_ns,
                    all.to_ns - overview.origin_ns));
  }
  return range;
}

void export_scenes(const std::vector<Scene>& scenes, const std::string& file, const QSize& size, bool force) {
  if (!is_svg(file) && !file.ends_with(".png"))
    throw cli::Failure(fmt::format("{} is neither .png nor .svg", file), "choose one of them");
  const cli::OutputFile output(file, force);
  const QByteArray bytes = is_svg(file) ? svg(scenes, size) : png(scenes, size);
  output.publish(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

void write_screenshot(const Options& options, const std::string& path) {
  cli::OutputFile(options.screenshot, options.force);  // refuses before the work is done
  std::vector<std::unique_ptr<OpenSession>> sessions;
  sessions.push_back(OpenSession::open(path));
  if (!options.compare.empty()) sessions.push_back(OpenSession::open(options.compare));
  const Overview& first = *sessions.front()->overview;
  const Theme theme = options.theme == "dark" ? Theme::dark_one() : Theme::light();
  const int width = options.size.value_or(QSize(kUsualWidth, 1)).width();
  const TimeRange range = asked_range(options, first);
  std::vector<Scene> scenes;
  int height = 0;
  for (const auto& session : sessions) {
    scenes.push_back(scene_of(*session, theme, width, aligned(range, first, *session->overview)));
    height += page_height(scenes.back());
  }
  const QSize size = options.size.value_or(QSize(width, height));
  const auto count = static_cast<int>(scenes.size());
  for (std::size_t i = 0; i < scenes.size(); ++i) fill(scenes[i], *sessions[i], size.height() / count);
  export_scenes(scenes, options.screenshot, size, options.force);
}

}  // namespace tferry::gui
