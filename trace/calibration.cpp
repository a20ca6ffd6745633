#include "trace/calibration.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tferry::trace {
namespace {

/// Joins what is connected; names of sets are their smallest members.
class Components {
 public:
  int find(int gpu) {
    const auto [place, is_new] = parent_.try_emplace(gpu, gpu);
    return is_new || place->second == gpu ? gpu : find(place->second);
  }
  void join(int a, int b) {
    const int first = find(a), second = find(b);
    parent_[std::max(first, second)] = std::min(first, second);
  }
  std::map<int, std::vector<int>> sets() {
    std::map<int, std::vector<int>> sets;
    for (const auto& [gpu, ignored] : std::map<int, int>(parent_)) sets[find(gpu)].push_back(gpu);
    return sets;
  }

 private:
  std::map<int, int> parent_;
};

SharedGroup describe(const Calibration& calibration, std::vector<int> gpus, const std::string& direction) {
  SharedGroup group{.gpus = std::move(gpus), .direction = direction};
  const CalibratedFigure* stretch = find_figure(calibration, "stretch", group.gpus, -1, direction);
  if (stretch == nullptr) {
    for (const CalibratedFigure& figure : calibration.figures) {
      const bool inside =
          figure.what == "stretch" && figure.direction == direction &&
          std::includes(group.gpus.begin(), group.gpus.end(), figure.gpus.begin(), figure.gpus.end());
      if (inside && (stretch == nullptr || figure.median > stretch->median)) stretch = &figure;
    }
  }
  if (stretch != nullptr) {
    group.factor = stretch->median;
    group.low = stretch->low;
    group.high = stretch->high;
    const CalibratedFigure* sum = find_figure(calibration, "group", stretch->gpus, -1, direction);
    if (sum != nullptr) group.bytes_per_second = sum->median;
  }
  return group;
}

}  // namespace

const CalibratedFigure* find_figure(const Calibration& calibration, std::string_view what,
                                    std::vector<int> gpus, int gpu, std::string_view direction,
                                    std::string_view memory, std::string_view beside) {
  for (const CalibratedFigure& figure : calibration.figures) {
    if (figure.what == what && figure.gpus == gpus && figure.gpu == gpu && figure.direction == direction &&
        figure.memory == memory && figure.beside == beside) {
      return &figure;
    }
  }
  return nullptr;
}

std::optional<double> link_rate(const Calibration& calibration, int gpu, std::string_view direction,
                                std::string_view beside) {
  const CalibratedFigure* best = nullptr;
  for (const CalibratedFigure& figure : calibration.figures) {
    const bool fits = figure.what == "copy" && figure.gpu == gpu && figure.direction == direction &&
                      figure.memory == "pinned" && figure.beside == beside;
    if (fits && (best == nullptr || figure.bytes > best->bytes)) best = &figure;
  }
  return best == nullptr ? std::nullopt : std::optional(best->median);
}

std::optional<RouteRates> route_rates(const Calibration& calibration, int gpu, CopyRoute::Way way) {
  if (way == CopyRoute::Way::kDirect) return std::nullopt;
  const bool both = way == CopyRoute::Way::kBoth;
  RouteRates rates;
  for (const CalibratedFigure& figure : calibration.figures) {
    const bool fits = figure.what == "relay" && figure.gpus.size() == 2 && figure.gpus.front() == gpu &&
                      figure.gpu == (both ? -1 : gpu) && figure.beside == (both ? "direct" : "idle");
    if (!fits || (rates.via >= 0 && figure.gpus.back() != rates.via)) continue;
    rates.via = figure.gpus.back();
    (figure.direction == "h2d"   ? rates.h2d
     : figure.direction == "d2h" ? rates.d2h
                                 : rates.both) = figure.median;
  }
  const bool known = rates.h2d > 0 && rates.d2h > 0 && rates.both > 0;
  return known ? std::optional(rates) : std::nullopt;
}

std::vector<SharedGroup> shared_groups(const Calibration& calibration, double threshold) {
  std::vector<SharedGroup> groups;
  for (const char* direction : {"h2d", "d2h", "both"}) {
    Components components;
    for (const CalibratedFigure& figure : calibration.figures) {
      if (figure.what == "stretch" && figure.direction == direction && figure.gpus.size() == 2 &&
          figure.low > threshold) {
        components.join(figure.gpus[0], figure.gpus[1]);
      }
    }
    for (auto& [ignored, gpus] : components.sets()) {
      groups.push_back(describe(calibration, std::move(gpus), direction));
    }
  }
  return groups;
}

}  // namespace tferry::trace
