// What every experiment in this folder shares: checked driver calls, handles, time and a report.
//
// Flow: run_all.sh starts `tferry-experiments NAME OUT.json` once per experiment, each in a process of its
// own under a time limit; an experiment adds its findings to a Report section by section, and the report is
// on disk after every section, so that a crash or the time limit costs the sections not yet reached and
// nothing else.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::experiments {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kGiB = std::size_t{1} << 30;
inline constexpr std::size_t kTiB = std::size_t{1} << 40;

/// A driver call answered something else than CUDA_SUCCESS; what() names the call and the driver's error.
struct DriverError : std::runtime_error {
  DriverError(const std::string& call, CUresult result);
  CUresult result;
};

inline void check(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) throw DriverError(call, result);
}

#define TFERRY_CU(call) ::tferry::experiments::check((call), #call)

/// Microseconds since an arbitrary start, monotonic.
inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Runs `action` and returns how many microseconds it took.
template <class Action>
double time_us(Action&& action) {
  const double start = now_us();
  action();
  return now_us() - start;
}

/// Makes device 0's primary context current on the calling thread; every thread of an experiment calls it
/// once.
void use_device();

/// Bytes free on the card, as the driver tells.
std::size_t free_device_bytes();

/// A stream that does not wait for the legacy stream.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  void synchronize() const { TFERRY_CU(cuStreamSynchronize(stream_)); }

 private:
  CUstream stream_ = nullptr;
};

/// An event; without timing unless asked for.
class Event {
 public:
  explicit Event(bool timing = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const { return event_; }
  void record(const Stream& stream) const { TFERRY_CU(cuEventRecord(event_, stream.get())); }
  void synchronize() const { TFERRY_CU(cuEventSynchronize(event_)); }

 private:
  CUevent event_ = nullptr;
};

/// Milliseconds on the GPU between two timing events, both complete.
double elapsed_ms(const Event& from, const Event& to);

/// Device memory from cuMemAlloc.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  CUdeviceptr get() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tferry::experiments
