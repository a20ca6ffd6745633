#include "collector/calibrate/bench.hpp"

#include <algorithm>
#include <cmath>

namespace tferry::calibrate {
namespace {

constexpr int kSmallPiecesPerEvent = 64;
constexpr int kMaxPieces = 512;  // a stream holds about twice as many before submitting waits

std::vector<int> chosen(const cuda::Driver& driver, const std::vector<int>& wanted) {
  int count = 0;
  TFERRY_DRIVER(driver, cuDeviceGetCount, &count);
  std::vector<int> ordinals;
  for (int i = 0; i < count; ++i) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), i) != wanted.end()) ordinals.push_back(i);
  }
  if (ordinals.empty())
    throw DriverCallError("there is no such GPU; the driver shows " + std::to_string(count));
  return ordinals;
}

}  // namespace

const char* name_of(Direction direction) { return direction == Direction::kToDevice ? "h2d" : "d2h"; }

LinkBuffers::LinkBuffers(const Gpu& gpu, std::int64_t bytes)
    : device_in(gpu, Memory::Kind::kDevice, bytes),
      device_out(gpu, Memory::Kind::kDevice, bytes),
      host_in(gpu, Memory::Kind::kPinned, bytes),
      host_out(gpu, Memory::Kind::kPinned, bytes),
      in(gpu),
      out(gpu) {}

Bench::Bench(const cuda::Driver& driver, const Settings& settings, trace::Calibration& calibration)
    : settings_(settings), calibration_(calibration), buffer_bytes_(settings.buffer_bytes) {
  if (!settings_.now_ns) settings_.now_ns = Settings::steady_now_ns;
  start_ns_ = Settings::steady_now_ns();
  for (const int ordinal : chosen(driver, settings.gpus)) {
    gpus_.push_back(std::make_unique<Gpu>(driver, ordinal));
    calibration_.gpus.push_back(gpus_.back()->identity());
    buffer_bytes_ = std::min(buffer_bytes_, gpus_.back()->free_bytes() / 8);
  }
  for (const auto& gpu : gpus_) links_.push_back(std::make_unique<LinkBuffers>(*gpu, buffer_bytes_));
}

void Bench::check_time() const {
  const auto limit = std::chrono::duration<double>(settings_.time_limit).count();
  if (elapsed_s() > limit) throw OutOfTime();
}

Lane Bench::copies(std::size_t index, Direction direction, std::int64_t piece_bytes,
                   std::int64_t bytes) const {
  const LinkBuffers& link = *links_[index];
  const cuda::Driver& driver = gpus_[index]->driver();
  const std::int64_t piece = std::min(piece_bytes, buffer_bytes_);
  const std::int64_t places = buffer_bytes_ / piece;
  const bool in = direction == Direction::kToDevice;
  Lane lane{
      .gpu = gpus_[index].get(), .streams = {in ? link.in.get() : link.out.get()}, .piece_bytes = piece};
  lane.pieces = static_cast<int>(std::clamp<std::int64_t>(bytes / piece, 4, kMaxPieces));
  lane.pieces_per_event = piece < settings_.small_bytes ? kSmallPiecesPerEvent : 1;
  lane.submit = [&link, &driver, piece, places, in](int number, CUstream stream) {
    const std::int64_t at = number % places * piece;
    const auto size = static_cast<std::size_t>(piece);
    if (in) {
      TFERRY_DRIVER(driver, cuMemcpyHtoDAsync_v2, link.device_in.device(at), link.host_in.host(at), size,
                    stream);
    } else {
      TFERRY_DRIVER(driver, cuMemcpyDtoHAsync_v2, link.host_out.host(at), link.device_out.device(at), size,
                    stream);
    }
  };
  return lane;
}

Lane Bench::copies(std::size_t index, Direction direction) const {
  return copies(index, direction, settings_.piece_bytes, settings_.run_bytes);
}

void Bench::add(trace::CalibratedFigure prototype, std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value) || value <= 0; });
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  prototype.median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  prototype.low = values.front();
  prototype.high = values.back();
  prototype.count = static_cast<int>(values.size());
  calibration_.figures.push_back(std::move(prototype));
}

}  // namespace tferry::calibrate
