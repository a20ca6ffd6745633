#pragma once

#include "collector/calibrate/driver_error.hpp"
#include "trace/calibration.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tferry::calibrate {

/// One GPU: its primary context, and what is made in it. Its members throw DriverCallError; the destructor
/// gives the context back. Threads: each has to make the GPU current first.
class Gpu {
 public:
  Gpu(const cuda::Driver& driver, int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::Driver& driver() const noexcept { return driver_; }
  int ordinal() const noexcept { return ordinal_; }
  CUcontext context() const noexcept { return context_; }
  const trace::CalibratedGpu& identity() const noexcept { return identity_; }

  void make_current() const;
  void synchronise() const;
  std::int64_t free_bytes() const;
  int attribute(CUdevice_attribute which, int otherwise) const;
  bool can_reach(const Gpu& peer) const;
  /// So that kernels and copies of this GPU reach the other's memory directly; enabled already is no error.
  void enable_peer(const Gpu& peer) const;

 private:
  const cuda::Driver& driver_;
  int ordinal_;
  CUcontext context_ = nullptr;
  trace::CalibratedGpu identity_;
};

/// Memory that a GPU made; given back with this object. Kinds differ in who can read it and how fast.
class Memory {
 public:
  enum class Kind { kDevice, kPinned, kManaged, kPageable };

  /// Host memory comes from the GPU's NUMA node where the system lets us, and is written once.
  Memory(const Gpu& gpu, Kind kind, std::int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::int64_t bytes() const noexcept { return bytes_; }
  CUdeviceptr device(std::int64_t offset = 0) const noexcept {
    return device_ + static_cast<CUdeviceptr>(offset);
  }
  void* host(std::int64_t offset = 0) const noexcept { return static_cast<std::byte*>(host_) + offset; }

 private:
  const Gpu& gpu_;
  Kind kind_;
  std::int64_t bytes_;
  CUdeviceptr device_ = 0;
  void* host_ = nullptr;
};

/// A stream that waits for no other.
class Stream {
 public:
  explicit Stream(const Gpu& gpu);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const noexcept { return stream_; }

 private:
  const Gpu& gpu_;
  CUstream stream_ = nullptr;
};

/// An event that tells times.
class Event {
 public:
  explicit Event(const Gpu& gpu);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const noexcept { return event_; }
  void record(CUstream stream) const;
  /// Seconds from `earlier` to this; both are done.
  double since(const Event& earlier) const;

 private:
  const Gpu& gpu_;
  CUevent event_ = nullptr;
};

}  // namespace tferry::calibrate
