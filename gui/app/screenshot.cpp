#include "gui/app/screenshot.hpp"

#include "cli/failure.hpp"
#include "cli/output_file.hpp"
#include "cli/report/scope.hpp"
#include "gui/paint/timeline_painter.hpp"
#include "gui/session/open_session.hpp"

#include <QBuffer>
#include <QImage>
#include <QSvgGenerator>
#include <fmt/format.h>

namespace tferry::gui {
namespace {

constexpr int kUsualWidth = 1920;

bool is_svg(const std::string& file) { return file.ends_with(".svg"); }

QByteArray png(const Scene& scene, const QSize& size) {
  QImage image(size, QImage::Format_RGB32);
  QPainter painter(&image);
  paint_page(painter, scene, size);
  painter.end();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return bytes;
}

QByteArray svg(const Scene& scene, const QSize& size) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(0, 0), size));
  generator.setTitle(QStringLiteral("Tensorferry"));
  QPainter painter(&generator);
  paint_page(painter, scene, size);
  painter.end();
  return bytes;
}

}  // namespace

TimeRange asked_range(const Options& options, const Overview& overview) {
  const TimeRange all = overview.range;
  TimeRange range = all;
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

void export_scene(const Scene& scene, const std::string& file, const QSize& size, bool force) {
  if (!is_svg(file) && !file.ends_with(".png"))
    throw cli::Failure(fmt::format("{} is neither .png nor .svg", file), "choose one of them");
  const cli::OutputFile output(file, force);
  const QByteArray bytes = is_svg(file) ? svg(scene, size) : png(scene, size);
  output.publish(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

void write_screenshot(const Options& options, const std::string& path) {
  cli::OutputFile(options.screenshot, options.force);  // refuses before the work is done
  const auto open = OpenSession::open(path);
  Scene scene;
  scene.overview = open->overview;
  scene.names = open->names;
  scene.theme = options.theme == "dark" ? Theme::dark_one() : Theme::light();
  scene.layout = TimelineLayout(*scene.overview, folded_at_first(*scene.overview));
  const QSize size = options.size.value_or(QSize(kUsualWidth, page_height(scene)));
  scene.time = TimeMap(scene.overview->range, lanes_width(size.width()));
  if (!options.from.empty() || !options.to.empty())
    scene.time = scene.time.showing(asked_range(options, *scene.overview));
  scene.picture = open->reader->read(scene.time.visible(), scene.time.ns_per_pixel(), {},
                                     folded_at_first(*scene.overview));
  export_scene(scene, options.screenshot, size, options.force);
}

}  // namespace tferry::gui
