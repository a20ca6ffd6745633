#pragma once

#include "trace/copy_route.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::trace {

// What `tferry calibrate` measured on one machine: a flat list of figures, each with its spread, as the file
// of
// `--json` holds them.

/// A GPU that was measured; `ordinal` counts in PCI order.
struct CalibratedGpu {
  int ordinal = 0;
  std::string uuid = {};         ///< GPU-...
  std::string name = {};         ///< as the driver tells it
  std::string pci_address = {};  ///< 0000:19:00.0
  int numa_node = -1;
};

/// One figure.
///
/// | what | of | unit |
/// |---|---|---|
/// | copy | one GPU alone, by piece size, memory (pinned, pageable) and direction; beside the other
/// direction: duplex | bytes/s | | copy_call | the call that submits a copy | ns | | group | GPUs copying at
/// once, each GPU's own rate; gpu -1: in sum | bytes/s | | stretch | the same: rates alone in sum over rates
/// at once in sum | factor | | read_in_place | a kernel that reads pinned host memory | bytes/s | | peer | a
/// copy from gpus[0] to gpus[1] | bytes/s | | relay | all host traffic of gpus[0] by way of gpus[1], its link
/// beside idle or busy; with_direct: in sum with copies over the own link | bytes/s | | prefetch,
/// prefetch_call | managed memory by piece size; share of the time that the call blocks | bytes/s, share | |
/// fault | a kernel that reads managed memory of the host | bytes/s | | create_device, create_host, map,
/// set_access, unmap, map_host, unmap_host | mapping calls for a handle of `bytes`, beside copies | ns |
struct CalibratedFigure {
  std::string what = {};
  std::vector<int> gpus = {};  ///< ordinals that took part
  int gpu = -1;                ///< whose figure it is; -1: of all together
  std::string direction =
      {};                   ///< h2d, d2h, both, mixed (even GPUs in, odd ones out); empty where there is none
  std::string memory = {};  ///< pinned, pageable, managed, device; empty where there is none
  std::string beside = {};  ///< what went on at the same time; empty: nothing
  std::int64_t bytes = 0;   ///< of one piece or handle
  std::string unit = {};
  double median = 0, low = 0, high = 0;  ///< over `count` repeats
  int count = 0;
};

struct Calibration {
  std::string created = {};  ///< ISO 8601, UTC
  std::string host = {};
  std::string tferry = {};  ///< the version that measured
  int driver_version = 0;   ///< 13000 is 13.0
  double duration_s = 0;
  std::vector<CalibratedGpu> gpus = {};
  std::vector<CalibratedFigure> figures = {};
  std::vector<std::string> missing = {};  ///< what was not measured, with the reason
};

/// The figure that fits all that is given; null if there is none. `beside` counts: empty means nothing
/// beside.
const CalibratedFigure* find_figure(const Calibration& calibration, std::string_view what,
                                    std::vector<int> gpus, int gpu, std::string_view direction,
                                    std::string_view memory = "pinned", std::string_view beside = "");

/// The rate of one GPU's link by the largest piece that was measured alone; unset: not measured.
std::optional<double> link_rate(const Calibration& calibration, int gpu, std::string_view direction,
                                std::string_view beside = "");

/// What copies of a GPU reach by a way that another GPU's link is part of, that one idle: bytes/s.
struct RouteRates {
  int via = -1;                       ///< ordinal of the other GPU
  double h2d = 0, d2h = 0, both = 0;  ///< the last one: both ways at once, in sum
};
/// Unset: not measured, or the way is the direct one.
std::optional<RouteRates> route_rates(const Calibration& calibration, int gpu, CopyRoute::Way way);

/// GPUs that slow each other down: something between them and the host's memory is shared.
struct SharedGroup {
  std::vector<int> gpus = {};
  std::string direction = {};            ///< in which it shows: h2d, d2h, both
  double factor = 1, low = 1, high = 1;  ///< rates alone in sum over rates at once in sum
  double bytes_per_second = 0;           ///< what the group reaches in sum
};

/// Pairs whose stretch lies above `threshold` in all repeats, joined to groups (connected components) by
/// direction. A group's factor is that of its measurement as a whole, or of its worst pair where that is
/// missing.
std::vector<SharedGroup> shared_groups(const Calibration& calibration, double threshold = 1.02);

std::string to_json(const Calibration& calibration);
/// Throws std::runtime_error with a sentence if the text is no calibration of this version.
Calibration calibration_from_json(std::string_view text);

}  // namespace tferry::trace
