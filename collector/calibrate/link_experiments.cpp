#include "collector/calibrate/experiments.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tferry::calibrate {
namespace {

using trace::CalibratedFigure;

constexpr std::array kSizes = {4LL << 10, 16LL << 10, 64LL << 10, 256LL << 10,
                               1LL << 20, 4LL << 20,  16LL << 20, 64LL << 20};
constexpr std::array kDirections = {Direction::kToDevice, Direction::kToHost};
constexpr std::array kModes = {"h2d", "d2h", "both", "mixed"};

const char* other(const std::string& direction) { return direction == "h2d" ? "d2h" : "h2d"; }

CalibratedFigure rate(const char* what, std::vector<int> gpus, int gpu, std::string direction) {
  return {.what = what,
          .gpus = std::move(gpus),
          .gpu = gpu,
          .direction = std::move(direction),
          .memory = "pinned",
          .unit = "bytes/s"};
}

std::vector<Lane> both_ways(const Bench& bench, std::size_t index, std::int64_t piece, std::int64_t bytes) {
  return {bench.copies(index, Direction::kToDevice, piece, bytes),
          bench.copies(index, Direction::kToHost, piece, bytes)};
}

/// Both ways at once by one piece size: each way's rate beside the other, and the sum.
void measure_duplex(Bench& bench, std::size_t index, std::int64_t piece) {
  std::vector<double> in, out, sum;
  for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
    bench.check_time();
    const auto rates = run_lanes(both_ways(bench, index, piece, bench.settings().run_bytes));
    in.push_back(rates[0]);
    out.push_back(rates[1]);
    sum.push_back(rates[0] + rates[1]);
  }
  const int gpu = bench.gpu(index).ordinal();
  for (auto& [direction, values] : {std::pair{"h2d", in}, std::pair{"d2h", out}, std::pair{"both", sum}}) {
    CalibratedFigure figure = rate("copy", {gpu}, gpu, direction);
    figure.bytes = std::min(piece, bench.buffer_bytes());
    if (direction != std::string("both")) figure.beside = other(direction);
    bench.add(figure, values);
  }
}

void measure_alone(Bench& bench, std::size_t index, Direction direction, std::int64_t piece) {
  std::vector<double> values;
  for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
    bench.check_time();
    values.push_back(run_lanes({bench.copies(index, direction, piece, bench.settings().run_bytes)}).front());
  }
  const int gpu = bench.gpu(index).ordinal();
  CalibratedFigure figure = rate("copy", {gpu}, gpu, name_of(direction));
  figure.bytes = std::min(piece, bench.buffer_bytes());
  bench.add(figure, values);
}

/// What the GPUs of a set reach when each is alone, in sum.
double alone_in_sum(const Bench& bench, const std::vector<std::size_t>& set, const std::string& mode) {
  double sum = 0;
  for (std::size_t place = 0; place < set.size(); ++place) {
    const int gpu = bench.gpu(set[place]).ordinal();
    const std::string direction = mode == "mixed" ? (place % 2 == 0 ? "h2d" : "d2h") : mode;
    const CalibratedFigure* alone = find_figure(bench.calibration(), "copy", {gpu}, gpu, direction);
    sum += alone == nullptr ? 0 : alone->median;
  }
  return sum;
}

struct LaneOf {
  std::size_t index;
  std::string direction;
};

void measure_group(Bench& bench, const std::vector<std::size_t>& set, const std::string& mode) {
  std::vector<LaneOf> lanes_of;
  std::vector<Lane> lanes;
  std::vector<int> gpus;
  for (std::size_t place = 0; place < set.size(); ++place) {
    gpus.push_back(bench.gpu(set[place]).ordinal());
    for (const Direction direction : kDirections) {
      const bool first = direction == Direction::kToDevice;
      const bool wanted =
          mode == "both" || mode == name_of(direction) || (mode == "mixed" && first == (place % 2 == 0));
      if (!wanted) continue;
      lanes.push_back(bench.copies(set[place], direction));
      lanes_of.push_back({set[place], name_of(direction)});
    }
  }
  std::map<std::size_t, std::vector<double>> own;
  std::map<std::string, std::vector<double>> ways;
  std::vector<double> sums, stretches;
  const double alone = alone_in_sum(bench, set, mode);
  for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
    bench.check_time();
    const auto rates = run_lanes(lanes);
    std::map<std::size_t, double> of_gpu;
    std::map<std::string, double> of_way;
    double sum = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      of_gpu[lanes_of[i].index] += rates[i];
      of_way[lanes_of[i].direction] += rates[i];
      sum += rates[i];
    }
    for (const auto& [index, value] : of_gpu) own[index].push_back(value);
    for (const auto& [way, value] : of_way) ways[way].push_back(value);
    sums.push_back(sum);
    if (sum > 0) stretches.push_back(alone / sum);
  }
  for (const auto& [index, values] : own)
    bench.add(rate("group", gpus, bench.gpu(index).ordinal(), mode), values);
  bench.add(rate("group", gpus, -1, mode), sums);
  if (mode == "both") {
    for (const auto& [way, values] : ways) {
      CalibratedFigure figure = rate("group", gpus, -1, way);
      figure.beside = other(way);
      bench.add(figure, values);
    }
  }
  CalibratedFigure stretch = rate("stretch", gpus, -1, mode);
  stretch.unit = "factor";
  bench.add(stretch, stretches);
}

std::size_t index_of(const Bench& bench, int ordinal) {
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    if (bench.gpu(index).ordinal() == ordinal) return index;
  }
  return 0;
}

}  // namespace

void measure_links(Bench& bench) {
  const std::int64_t piece = bench.settings().piece_bytes;
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    run_lanes(both_ways(bench, index, piece, bench.buffer_bytes()));  // the first copies are slower
    for (const Direction direction : kDirections) measure_alone(bench, index, direction, piece);
    measure_duplex(bench, index, piece);
  }
}

void measure_groups(Bench& bench) {
  const std::size_t count = bench.gpu_count();
  if (count < 2) return bench.miss("contention between GPUs: there is one GPU");
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  for (const char* mode : kModes) measure_group(bench, all, mode);
  std::set<std::vector<std::size_t>> measured = {all};
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      if (!measured.insert({a, b}).second) continue;
      for (const char* mode : kModes) measure_group(bench, {a, b}, mode);
    }
  }
  for (const trace::SharedGroup& group : shared_groups(bench.calibration())) {
    std::vector<std::size_t> set;
    for (const int gpu : group.gpus) set.push_back(index_of(bench, gpu));
    if (find_figure(bench.calibration(), "stretch", group.gpus, -1, group.direction) == nullptr) {
      measure_group(bench, set, group.direction);
    }
  }
}

void measure_sizes(Bench& bench) {
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    for (const std::int64_t piece : kSizes) {
      if (piece == bench.settings().piece_bytes || piece > bench.buffer_bytes()) continue;
      for (const Direction direction : kDirections) measure_alone(bench, index, direction, piece);
      measure_duplex(bench, index, piece);
    }
    constexpr std::int64_t kPiece = 64LL << 10;
    constexpr int kCalls = 256;
    std::vector<double> values;
    for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
      const Lane lane = bench.copies(index, Direction::kToDevice, kPiece, kPiece * kCalls);
      lane.gpu->make_current();
      const std::int64_t before = bench.now_ns();
      for (int piece = 0; piece < lane.pieces; ++piece) lane.submit(piece, lane.streams.front());
      values.push_back(static_cast<double>(bench.now_ns() - before) / lane.pieces);
      lane.gpu->synchronise();
    }
    const int gpu = bench.gpu(index).ordinal();
    CalibratedFigure figure = rate("copy_call", {gpu}, gpu, "h2d");
    figure.bytes = kPiece;
    figure.unit = "ns";
    bench.add(figure, values);
  }
}

void measure_pageable(Bench& bench) {
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    const Gpu& gpu = bench.gpu(index);
    const cuda::Driver& driver = gpu.driver();
    const Memory host(gpu, Memory::Kind::kPageable, bench.buffer_bytes());
    const LinkBuffers& link = bench.link(index);
    for (const std::int64_t piece : {1LL << 20, 16LL << 20, 64LL << 20}) {
      if (piece > bench.buffer_bytes()) continue;
      for (const Direction direction : kDirections) {
        Lane lane = bench.copies(index, direction, piece, bench.settings().run_bytes / 4);
        const std::int64_t places = bench.buffer_bytes() / piece;
        const auto size = static_cast<std::size_t>(piece);
        lane.submit = [&, direction, places, size, piece](int number, CUstream stream) {
          const std::int64_t at = number % places * piece;
          if (direction == Direction::kToDevice) {
            TFERRY_DRIVER(driver, cuMemcpyHtoDAsync_v2, link.device_in.device(at), host.host(at), size,
                          stream);
          } else {
            TFERRY_DRIVER(driver, cuMemcpyDtoHAsync_v2, host.host(at), link.device_out.device(at), size,
                          stream);
          }
        };
        std::vector<double> values;
        for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
          bench.check_time();
          values.push_back(run_lanes({lane}).front());
        }
        CalibratedFigure figure = rate("copy", {gpu.ordinal()}, gpu.ordinal(), name_of(direction));
        figure.memory = "pageable";
        figure.bytes = piece;
        bench.add(figure, values);
      }
    }
  }
}

}  // namespace tferry::calibrate
