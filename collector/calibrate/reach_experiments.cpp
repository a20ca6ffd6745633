// What reaches beyond a GPU's own memory and link: reads in place, peer copies, relays.
#include "collector/calibrate/experiments.hpp"
#include "collector/calibrate/read_kernel.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace tferry::calibrate {
namespace {

using trace::CalibratedFigure;

constexpr int kStages = 4;  // pieces of a relay that are on their way at once
constexpr std::int64_t kPeerPiece = 64LL << 20;

/// Staging memory on the neighbour, and streams in its context: a piece crosses the link into the stage and
/// the neighbour's NVLink out of it in the order of one stream, and pieces overlap by several.
class Relay {
 public:
  Relay(const Bench& bench, std::size_t index, std::size_t via)
      : bench_(bench),
        index_(index),
        via_(via),
        piece_(std::min(bench.settings().piece_bytes, bench.buffer_bytes())),
        in_stage_(bench.gpu(via), Memory::Kind::kDevice, piece_ * kStages),
        out_stage_(bench.gpu(via), Memory::Kind::kDevice, piece_ * kStages) {
    for (int i = 0; i < 2 * kStages; ++i) streams_.push_back(std::make_unique<Stream>(bench.gpu(via)));
  }

  Lane lane(Direction direction, std::int64_t bytes) const {
    const bool in = direction == Direction::kToDevice;
    Lane lane = bench_.copies(index_, direction, piece_, bytes);
    lane.gpu = &bench_.gpu(via_);
    lane.streams.clear();
    for (int i = 0; i < kStages; ++i)
      lane.streams.push_back(streams_[static_cast<std::size_t>(in ? i : kStages + i)]->get());
    lane.submit = [this, in](int number, CUstream stream) {
      in ? bring(number, stream) : take(number, stream);
    };
    return lane;
  }

 private:
  std::int64_t place(int number) const { return number % (bench_.buffer_bytes() / piece_) * piece_; }

  void bring(int number, CUstream stream) const {
    const LinkBuffers& link = bench_.link(index_);
    const Gpu& gpu = bench_.gpu(index_);
    const CUdeviceptr stage = in_stage_.device(number % kStages * piece_);
    const auto size = static_cast<std::size_t>(piece_);
    const cuda::Driver& driver = gpu.driver();
    TFERRY_DRIVER(driver, cuMemcpyHtoDAsync_v2, stage, link.host_in.host(place(number)), size, stream);
    TFERRY_DRIVER(driver, cuMemcpyPeerAsync, link.device_in.device(place(number)), gpu.context(), stage,
                  bench_.gpu(via_).context(), size, stream);
  }

  void take(int number, CUstream stream) const {
    const LinkBuffers& link = bench_.link(index_);
    const Gpu& gpu = bench_.gpu(index_);
    const CUdeviceptr stage = out_stage_.device(number % kStages * piece_);
    const auto size = static_cast<std::size_t>(piece_);
    const cuda::Driver& driver = gpu.driver();
    TFERRY_DRIVER(driver, cuMemcpyPeerAsync, stage, bench_.gpu(via_).context(),
                  link.device_out.device(place(number)), gpu.context(), size, stream);
    TFERRY_DRIVER(driver, cuMemcpyDtoHAsync_v2, link.host_out.host(place(number)), stage, size, stream);
  }

  const Bench& bench_;
  std::size_t index_, via_;
  std::int64_t piece_;
  Memory in_stage_, out_stage_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

/// The neighbour to relay by: the next GPU, in a circle, that reaches and is reached.
std::optional<std::size_t> neighbour_of(const Bench& bench, std::size_t index) {
  for (std::size_t step = 1; step < bench.gpu_count(); ++step) {
    const std::size_t via = (index + step) % bench.gpu_count();
    if (bench.gpu(index).can_reach(bench.gpu(via)) && bench.gpu(via).can_reach(bench.gpu(index))) return via;
  }
  return std::nullopt;
}

std::vector<Direction> ways_of(const std::string& mode) {
  if (mode == "h2d") return {Direction::kToDevice};
  if (mode == "d2h") return {Direction::kToHost};
  return {Direction::kToDevice, Direction::kToHost};
}

/// Relayed copies, and copies over a link of `beside` (the neighbour's own, or the GPU's own) at the same
/// time.
void measure_relay(Bench& bench, std::size_t index, std::size_t via, const Relay& relay,
                   const std::string& mode, const std::string& beside) {
  std::vector<Lane> lanes;
  const std::int64_t bytes = bench.settings().run_bytes;
  for (const Direction way : ways_of(mode)) lanes.push_back(relay.lane(way, bytes));
  const std::size_t relayed = lanes.size();
  if (beside != "idle") {
    const std::size_t whose = beside == "busy" ? via : index;
    for (const Direction way : ways_of(mode)) lanes.push_back(bench.copies(whose, way));
  }
  std::vector<double> of_relay, of_link, in_sum;
  for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
    bench.check_time();
    const auto rates = run_lanes(lanes);
    double relay_rate = 0, link_rate = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) (i < relayed ? relay_rate : link_rate) += rates[i];
    of_relay.push_back(relay_rate);
    of_link.push_back(link_rate);
    in_sum.push_back(relay_rate + link_rate);
  }
  const int gpu = bench.gpu(index).ordinal(), neighbour = bench.gpu(via).ordinal();
  CalibratedFigure figure{.what = "relay",
                          .gpus = {gpu, neighbour},
                          .gpu = gpu,
                          .direction = mode,
                          .memory = "pinned",
                          .beside = beside,
                          .unit = "bytes/s"};
  bench.add(figure, of_relay);
  if (beside == "busy") {
    figure.gpu = neighbour;
    bench.add(figure, of_link);
  }
  figure.gpu = -1;
  if (beside != "idle") bench.add(figure, in_sum);
}

}  // namespace

void measure_in_place(Bench& bench) {
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    const Gpu& gpu = bench.gpu(index);
    const ReadKernel kernel(gpu);
    const LinkBuffers& link = bench.link(index);
    const Event before(gpu), after(gpu);
    std::vector<double> values;
    for (int repeat = 0; repeat <= bench.settings().repeats; ++repeat) {
      bench.check_time();
      gpu.make_current();
      before.record(link.in.get());
      kernel.launch(link.host_in.device(), bench.buffer_bytes(), link.in.get());
      after.record(link.in.get());
      gpu.synchronise();
      if (repeat > 0) values.push_back(static_cast<double>(bench.buffer_bytes()) / after.since(before));
    }
    bench.add({.what = "read_in_place",
               .gpus = {gpu.ordinal()},
               .gpu = gpu.ordinal(),
               .direction = "h2d",
               .memory = "pinned",
               .bytes = bench.buffer_bytes(),
               .unit = "bytes/s"},
              values);
  }
}

void measure_peers(Bench& bench) {
  if (bench.gpu_count() < 2) return bench.miss("copies between GPUs: there is one GPU");
  for (std::size_t from = 0; from < bench.gpu_count(); ++from) {
    for (std::size_t to = 0; to < bench.gpu_count(); ++to) {
      const Gpu &source = bench.gpu(from), &target = bench.gpu(to);
      if (from == to || !source.can_reach(target)) continue;
      source.enable_peer(target);
      Lane lane = bench.copies(from, Direction::kToHost, kPeerPiece, bench.settings().run_bytes * 4);
      const std::int64_t places = bench.buffer_bytes() / lane.piece_bytes;
      lane.submit = [&, piece = lane.piece_bytes, places](int number, CUstream stream) {
        const std::int64_t at = number % places * piece;
        const cuda::Driver& driver = source.driver();
        TFERRY_DRIVER(driver, cuMemcpyPeerAsync, bench.link(to).device_in.device(at), target.context(),
                      bench.link(from).device_out.device(at), source.context(),
                      static_cast<std::size_t>(piece), stream);
      };
      std::vector<double> values;
      for (int repeat = 0; repeat < bench.settings().repeats; ++repeat) {
        bench.check_time();
        values.push_back(run_lanes({lane}).front());
      }
      bench.add({.what = "peer",
                 .gpus = {source.ordinal(), target.ordinal()},
                 .gpu = target.ordinal(),
                 .direction = "peer",
                 .memory = "device",
                 .bytes = lane.piece_bytes,
                 .unit = "bytes/s"},
                values);
    }
  }
}

void measure_relays(Bench& bench) {
  if (bench.gpu_count() < 2) return bench.miss("relays: there is one GPU");
  for (std::size_t index = 0; index < bench.gpu_count(); ++index) {
    const auto via = neighbour_of(bench, index);
    if (!via) {
      bench.miss("relay for GPU " + std::to_string(bench.gpu(index).ordinal()) +
                 ": no GPU reaches it directly");
      continue;
    }
    bench.gpu(*via).enable_peer(bench.gpu(index));
    bench.gpu(index).enable_peer(bench.gpu(*via));
    const Relay relay(bench, index, *via);
    for (const char* beside : {"idle", "busy", "direct"}) {
      for (const char* mode : {"h2d", "d2h", "both"}) measure_relay(bench, index, *via, relay, mode, beside);
    }
  }
}

}  // namespace tferry::calibrate
