#include "runtime/managed_mover.hpp"

#include "runtime/capture_guard.hpp"

#include <algorithm>
#include <pthread.h>
#include <signal.h>
#include <utility>

namespace tferry::runtime {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 20;     ///< of one prefetch call
constexpr std::size_t kMostInFlight = std::size_t{512} << 20;  ///< to the device; more only fills the queue

}  // namespace

ManagedMover::ManagedMover(const cuda::Driver& driver, CUdevice device, CUcontext context)
    : driver_(driver), device_(device), context_(context) {}

bool ManagedMover::open() {
  const auto make = [this](CUstream& stream) {
    return driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
  };
  if (!make(relay_) || !make(out_) || !make(in_)) return false;
  if ((last_out_ = take_event()) == nullptr || (last_in_ = take_event()) == nullptr) return false;
  // Signals are the program's own business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  out_thread_ = std::thread([this] { run_out(); });
  in_thread_ = std::thread([this] { run_in(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

ManagedMover::~ManagedMover() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (out_thread_.joinable()) out_thread_.join();
  if (in_thread_.joinable()) in_thread_.join();
}

CUevent ManagedMover::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      const CUevent event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  return driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS ? event : nullptr;
}

void ManagedMover::move_out(const std::vector<ManagedRun>& runs) {
  for (const ManagedRun& run : runs) {
    for (std::size_t done = 0; done < run.bytes; done += kPieceBytes) {
      Task task;
      task.runs = {{run.address + done, std::min(kPieceBytes, run.bytes - done), run.dead}};
      task.after = take_event();
      if (task.after != nullptr) driver_.cuEventRecord(task.after, relay_);
      out_bytes_ += task.runs.front().bytes;
      const std::lock_guard lock(mutex_);
      outs_.push_back(std::move(task));
      changed_.notify_all();
    }
  }
}

std::uint64_t ManagedMover::move_in(std::vector<ManagedRun> runs, std::uint64_t after_out) {
  const std::lock_guard lock(mutex_);
  Task task;
  task.runs = std::move(runs);
  task.after_out = after_out;
  task.ticket = next_ticket_++;
  ins_.push_back(std::move(task));
  changed_.notify_all();
  return ins_.back().ticket;
}

void ManagedMover::gate(std::uint64_t ticket, CUstream stream) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queued_in_ >= ticket; });
  driver_.cuStreamWaitEvent(stream, last_in_, 0);
}

void ManagedMover::wait_out(std::uint64_t bytes) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return moved_out_ >= bytes; });
  }
  driver_.cuEventSynchronize(last_out_);
}

std::int64_t ManagedMover::failures() {
  const std::lock_guard lock(mutex_);
  return failures_;
}

bool ManagedMover::enter() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver_.cuThreadExchangeStreamCaptureMode(&mode);
  return driver_.cuCtxSetCurrent(context_) == CUDA_SUCCESS;
}

void ManagedMover::prefetch(const ManagedRun& run, bool to_device, CUstream stream) {
  if (run.dead && !to_device && driver_.cuMemDiscardBatchAsync != nullptr) {
    CUdeviceptr address = run.address;
    std::size_t bytes = run.bytes;
    if (driver_.cuMemDiscardBatchAsync(&address, &bytes, 1, 0, stream) == CUDA_SUCCESS) return;
  }
  CUmemLocation location{};
  location.type = to_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
  location.id = to_device ? device_ : 0;
  for (std::size_t done = 0; done < run.bytes; done += kPieceBytes) {
    const std::size_t bytes = std::min(kPieceBytes, run.bytes - done);
    if (driver_.cuMemPrefetchAsync_v2(run.address + done, bytes, location, 0, stream) == CUDA_SUCCESS)
      continue;
    // Nothing is lost by it: what is not moved ahead is moved by faults.
    const std::lock_guard lock(mutex_);
    ++failures_;
  }
}

/// One thread: a prefetch to the host blocks its caller all along, yet two at once are slower than one (12 to
/// 14 GB/s instead of 16, docs/results/experiments.md).
void ManagedMover::run_out() {
  const bool usable = enter();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !outs_.empty(); });
    if (outs_.empty()) return;
    const Task task = std::move(outs_.front());
    outs_.pop_front();
    lock.unlock();
    if (usable && task.after != nullptr) driver_.cuStreamWaitEvent(out_, task.after, 0);
    for (const ManagedRun& run : task.runs) {
      if (usable) prefetch(run, false, out_);
    }
    lock.lock();
    if (task.after != nullptr) events_.push_back(task.after);
    if (usable) driver_.cuEventRecord(last_out_, out_);
    for (const ManagedRun& run : task.runs) moved_out_ += run.bytes;
    changed_.notify_all();
  }
}

void ManagedMover::run_in() {
  const bool usable = enter();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !ins_.empty(); });
    if (ins_.empty()) return;
    const Task task = std::move(ins_.front());
    ins_.pop_front();
    changed_.wait(lock, [&] { return moved_out_ >= task.after_out; });
    if (usable && task.after_out > 0) driver_.cuStreamWaitEvent(in_, last_out_, 0);
    lock.unlock();
    for (const ManagedRun& run : task.runs) {
      if (!usable) continue;
      throttle(run.bytes);
      prefetch(run, true, in_);
    }
    lock.lock();
    if (usable) driver_.cuEventRecord(last_in_, in_);
    queued_in_ = task.ticket;
    changed_.notify_all();
  }
}

/// Keeps at most kMostInFlight bytes queued to the device.
void ManagedMover::throttle(std::size_t bytes) {
  while (flying_ + bytes > kMostInFlight && !flights_.empty()) {
    const Flight flight = flights_.front();
    flights_.pop_front();
    driver_.cuEventSynchronize(flight.event);
    flying_ -= flight.bytes;
    const std::lock_guard lock(mutex_);
    events_.push_back(flight.event);
  }
  const CUevent event = take_event();
  if (event == nullptr) return;
  // Of what was queued before this run: it ends no later than the run itself, and the sum stays bounded.
  driver_.cuEventRecord(event, in_);
  flights_.push_back({event, bytes});
  flying_ += bytes;
}

}  // namespace tferry::runtime
