#include "cli/calibration/calibration_text.hpp"

#include "cli/byte_size.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace tferry::cli {
namespace {

using trace::CalibratedFigure;
using trace::Calibration;

/// 54.3, and the spread where it shows: 54.3 (53.9-54.4).
std::string scaled(const CalibratedFigure& figure, double scale, int digits) {
  const std::string value = fmt::format("{:.{}f}", figure.median / scale, digits);
  const std::string low = fmt::format("{:.{}f}", figure.low / scale, digits);
  const std::string high = fmt::format("{:.{}f}", figure.high / scale, digits);
  return low == high ? value : fmt::format("{} ({}-{})", value, low, high);
}

std::string value_of(const CalibratedFigure& figure) {
  if (figure.unit == "bytes/s") return scaled(figure, 1e9, 1) + " GB/s";
  if (figure.unit == "ns") return scaled(figure, 1e3, 1) + " us";
  return scaled(figure, 1, 2);
}

std::string or_dash(const CalibratedFigure* figure) {
  return figure == nullptr ? "-" : scaled(*figure, 1e9, 1);
}

std::string gpu_list(const std::vector<int>& gpus) { return fmt::format("{}", fmt::join(gpus, "+")); }

void add_links(const Calibration& calibration, std::string& text) {
  text += fmt::format("\n{:<6} {:<13} {:<18} {:<18} {:<18} {:<18} {:<18}\n", "GPU", "PCI address", "in, GB/s",
                      "out, GB/s", "both ways: in", "out", "in sum");
  for (const trace::CalibratedGpu& gpu : calibration.gpus) {
    const auto rate = [&](const char* direction, const char* beside) {
      // The largest piece both ways and alone is the same: that of the settings.
      const CalibratedFigure* best = nullptr;
      for (const CalibratedFigure& figure : calibration.figures) {
        if (figure.what == "copy" && figure.gpu == gpu.ordinal && figure.direction == direction &&
            figure.memory == "pinned" && figure.beside == beside &&
            (best == nullptr || figure.bytes > best->bytes)) {
          best = &figure;
        }
      }
      return or_dash(best);
    };
    text += fmt::format("{:<6} {:<13} {:<18} {:<18} {:<18} {:<18} {:<18}\n", gpu.ordinal, gpu.pci_address,
                        rate("h2d", ""), rate("d2h", ""), rate("h2d", "d2h"), rate("d2h", "h2d"),
                        rate("both", ""));
  }
}

void add_groups(const Calibration& calibration, std::string& text) {
  const auto is_stretch = [](const CalibratedFigure& figure) { return figure.what == "stretch"; };
  if (std::none_of(calibration.figures.begin(), calibration.figures.end(), is_stretch)) return;
  text += fmt::format("\n{:<12} {:<10} {:<24} {:<20}\n", "at once", "direction", "in sum, GB/s",
                      "slower by factor");
  for (const CalibratedFigure& figure : calibration.figures) {
    if (!is_stretch(figure)) continue;
    const CalibratedFigure* sum = find_figure(calibration, "group", figure.gpus, -1, figure.direction);
    text += fmt::format("{:<12} {:<10} {:<24} {:<20}\n", gpu_list(figure.gpus), figure.direction,
                        or_dash(sum), scaled(figure, 1, 3));
  }
  const auto groups = shared_groups(calibration);
  if (groups.empty()) text += "No two GPUs slow each other down in every repeat.\n";
  for (const trace::SharedGroup& group : groups) {
    text += fmt::format("GPUs {} share something, {}: factor {:.2f} ({:.2f}-{:.2f}), {:.1f} GB/s in sum\n",
                        gpu_list(group.gpus), group.direction, group.factor, group.low, group.high,
                        group.bytes_per_second / 1e9);
  }
}

/// The rest: a line for what, GPUs, direction, memory and beside; sizes follow each other in the line.
void add_rest(const Calibration& calibration, std::string& text) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> values;
  const std::set<std::string> shown = {"group", "stretch"};
  for (const CalibratedFigure& figure : calibration.figures) {
    if (shown.count(figure.what) > 0) continue;
    std::string key = fmt::format("{} GPU {}", figure.what, gpu_list(figure.gpus));
    if (figure.gpu < 0) key += " in sum";
    if (figure.gpus.size() > 1 && figure.gpu >= 0) key += fmt::format(" of {}", figure.gpu);
    for (const std::string& part : {figure.direction, figure.memory}) {
      if (!part.empty()) key += " " + part;
    }
    if (!figure.beside.empty()) key += " beside " + figure.beside;
    if (values.count(key) == 0) order.push_back(key);
    values[key].push_back(figure.bytes > 0
                              ? fmt::format("{}: {}", format_bytes(figure.bytes), value_of(figure))
                              : value_of(figure));
  }
  if (!order.empty()) text += "\n";
  for (const std::string& key : order) text += fmt::format("{:<44} {}\n", key, fmt::join(values[key], ", "));
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  std::string text =
      fmt::format("{}, {} GPUs, CUDA {}.{}, measured {} in {:.0f} s\n", calibration.host,
                  calibration.gpus.size(), calibration.driver_version / 1000,
                  calibration.driver_version % 1000 / 10, calibration.created, calibration.duration_s);
  add_links(calibration, text);
  add_groups(calibration, text);
  add_rest(calibration, text);
  for (const std::string& missing : calibration.missing) text += "not measured: " + missing + "\n";
  return text;
}

}  // namespace tferry::cli
