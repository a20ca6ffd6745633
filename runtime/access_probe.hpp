#pragma once

#include "cuda/driver.hpp"
#include "runtime/recorder.hpp"
#include "runtime/status_page.hpp"
#include "trace/records.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::runtime {

/// The access-direction pass (`tferry profile --access-direction`): turns "may touch" into knowledge by
/// experiment, launch by launch.
///
/// - Everything that a launch names is copied to the host before it and after it. What is the same was not
///   written; what differs was, in those extents of 2 MiB.
/// - What was written is then filled with something else, everything else put back as it was, and the kernel
///   launched again: where all ends as the first time, the old contents did not matter, so it is overwritten
///   before it is read. Only what the kernel writes itself is ever filled, since something else in its place
///   could be an index. At the end everything is as after the first launch.
///
/// A launch with the same kernel, shape, sizes and other arguments as one before is not tried again; what was
/// found then counts. So a job's later iterations run almost at full speed.
///
/// Not tried: launches that are captured, collectives, those whose parameters cannot be read. Not launched
/// again: kernels that name memory with something in it that looks like an address, since what they write
/// through it could not be put back. What a kernel writes to memory that no driver call made (its module's
/// own variables) is not put back either.
///
/// Threads: any. One launch is tried at a time; those of other threads meanwhile are submitted as they are.
/// When anything was submitted by another thread while a launch was tried, nothing is concluded from it and
/// it is not launched again; while it is launched again, others wait (beside()).
class AccessProbe {
 public:
  struct Region {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    std::uint64_t allocation = 0;
  };
  /// Submits the kernel to a stream.
  using Launch = std::function<CUresult(CUstream)>;

  AccessProbe(const cuda::Driver& driver, Recorder& recorder, StatusPage& status)
      : driver_(driver), recorder_(recorder), status_(status) {}

  /// Launches on `stream`, and writes what is known into the entries of `accesses` that name the regions.
  /// `key` stands for kernel, shape and those arguments that are no addresses. `is_address`: whether a word
  /// would be one of the program's memory. Returns what the program's own launch returned.
  CUresult run(std::uint64_t key, std::span<const Region> regions, std::vector<trace::AccessEntry>& accesses,
               CUstream stream, const std::function<bool(std::uint64_t)>& is_address, const Launch& launch);

  /// To be held by everything else that submits work, as long as it submits.
  std::shared_lock<std::shared_timed_mutex> beside() {
    std::shared_lock lock(gate_);
    others_.fetch_add(1, std::memory_order_relaxed);
    return lock;
  }

  std::int64_t tried() const { return tried_; }

 private:
  /// Memory that is used again, neither cleared nor given back in between: fresh pages cost more than the
  /// copies.
  class Buffer {
   public:
    void resize(std::size_t bytes) {
      if (bytes > capacity_) {
        data_.reset(new std::byte[bytes]);
        capacity_ = bytes;
      }
      size_ = bytes;
    }
    std::byte* data() { return data_.get(); }
    const std::byte* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    void assign(const Buffer& other);
    bool same(const Buffer& other) const;

   private:
    std::unique_ptr<std::byte[]> data_;
    std::size_t size_ = 0, capacity_ = 0;
  };
  using Contents = std::vector<Buffer>;  ///< by region
  struct Finding {
    trace::AccessKind kind = trace::AccessKind::kMayTouch;
    std::int64_t offset = 0;  ///< of what was written
    std::int64_t bytes = 0;
  };
  using Findings = std::vector<Finding>;  ///< by region
  using Alone = std::unique_lock<std::shared_timed_mutex>;

  std::uint64_t full_key(std::uint64_t key, std::span<const Region> regions) const;
  static void tell(const Findings& findings, std::span<const Region> regions,
                   std::vector<trace::AccessEntry>& accesses);
  CUresult try_it(std::uint64_t full_key, std::span<const Region> regions,
                  std::vector<trace::AccessEntry>& accesses, CUstream stream,
                  const std::function<bool(std::uint64_t)>& is_address, const Launch& launch);
  /// While nobody else submits; not owned if that does not come about soon.
  Alone alone() { return Alone(gate_, std::chrono::milliseconds(100)); }
  std::uint64_t others() const { return others_.load(std::memory_order_relaxed); }
  bool settle() const;
  CUstream own_stream();
  bool read(std::span<const Region> regions, Contents& contents);
  bool write(std::span<const Region> regions, const Contents& contents);
  /// As write, by every way there is.
  bool put_back(std::span<const Region> regions, const Contents& contents);
  /// Launches from `before`, but with other contents in the regions for which `fill` holds; `result` is what
  /// everything is afterwards.
  bool replay(std::span<const Region> regions, const Contents& before, const std::vector<bool>& fill,
              Contents& result, const Launch& launch);
  void find_overwritten(std::span<const Region> regions, const Contents& before, const Contents& after,
                        const Launch& launch, Findings& findings);

  const cuda::Driver& driver_;
  Recorder& recorder_;
  StatusPage& status_;
  std::mutex mutex_;  ///< who tries
  Contents before_, after_, result_;
  std::shared_timed_mutex gate_;
  std::atomic<std::uint64_t> others_ = 0;
  std::unordered_map<std::uint64_t, Findings> known_;
  std::map<CUcontext, CUstream> streams_;
  std::int64_t tried_ = 0;
  bool too_large_told_ = false;
};

}  // namespace tferry::runtime
