#include "collector/calibrate/lanes.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace tferry::calibrate {
namespace {

/// A lane under way: what it has submitted, and the events that tell when it was done.
class Run {
 public:
  explicit Run(const Lane& lane) : lane_(lane), start_(*lane.gpu) {
    for (int i = 0; i < events_needed(); ++i) done_.push_back(std::make_unique<Event>(*lane.gpu));
  }

  bool ended() const { return piece_ >= lane_.pieces; }
  bool blocks() const { return lane_.blocks; }

  void begin() {
    lane_.gpu->make_current();
    start_.record(lane_.streams.front());
    for (std::size_t i = 1; i < lane_.streams.size(); ++i) {
      TFERRY_DRIVER(lane_.gpu->driver(), cuStreamWaitEvent, lane_.streams[i], start_.get(), 0U);
    }
  }

  void submit_next() {
    lane_.gpu->make_current();
    const CUstream stream = lane_.streams[static_cast<std::size_t>(piece_) % lane_.streams.size()];
    lane_.submit(piece_, stream);
    ++piece_;
    if (piece_ % lane_.pieces_per_event == 0 || piece_ == lane_.pieces) {
      done_[next_event_++]->record(stream);
    }
  }

  /// Waits; the times at which each event's pieces were done, ascending, in seconds from the lane's start.
  std::vector<double> times() {
    lane_.gpu->make_current();
    for (const CUstream stream : lane_.streams)
      TFERRY_DRIVER(lane_.gpu->driver(), cuStreamSynchronize, stream);
    std::vector<double> times;
    for (const auto& event : done_) times.push_back(event->since(start_));
    std::sort(times.begin(), times.end());
    return times;
  }

  double bytes_per_event() const {
    return static_cast<double>(lane_.piece_bytes) * lane_.pieces / static_cast<double>(done_.size());
  }

 private:
  int events_needed() const { return (lane_.pieces + lane_.pieces_per_event - 1) / lane_.pieces_per_event; }

  const Lane& lane_;
  Event start_;
  std::vector<std::unique_ptr<Event>> done_;
  int piece_ = 0;
  std::size_t next_event_ = 0;
};

/// Lanes whose submission does not wait take turns on this thread; the others have one each.
void submit_all(std::vector<std::unique_ptr<Run>>& runs) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (const auto& run : runs) run->begin();
  for (const auto& run : runs) {
    if (!run->blocks()) continue;
    threads.emplace_back([&mutex, &failure, &run] {
      try {
        while (!run->ended()) run->submit_next();
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  }
  try {
    for (bool more = true; more;) {
      more = false;
      for (const auto& run : runs) {
        if (run->blocks() || run->ended()) continue;
        run->submit_next();
        more = true;
      }
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    failure = std::current_exception();
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

double bytes_done(const std::vector<double>& done_s, double when_s, double bytes_each) {
  const auto next = std::upper_bound(done_s.begin(), done_s.end(), when_s);
  const auto whole = static_cast<double>(next - done_s.begin());
  if (next == done_s.end()) return whole * bytes_each;
  const double before = next == done_s.begin() ? 0 : *(next - 1);
  return (whole + (when_s - before) / (*next - before)) * bytes_each;
}

std::vector<double> run_lanes(const std::vector<Lane>& lanes) {
  std::vector<std::unique_ptr<Run>> runs;
  for (const Lane& lane : lanes) runs.push_back(std::make_unique<Run>(lane));
  submit_all(runs);
  std::vector<std::vector<double>> times;
  for (const auto& run : runs) times.push_back(run->times());
  double window = times.front().back();
  for (const auto& lane : times) window = std::min(window, lane.back());
  std::vector<double> rates;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rates.push_back(window <= 0 ? 0 : bytes_done(times[i], window, runs[i]->bytes_per_event()) / window);
  }
  return rates;
}

}  // namespace tferry::calibrate
