#include "runtime/host_pool.hpp"

#include "runtime/capture_guard.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>

namespace tferry::runtime {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{256} << 20;

/// The first number in a file, or 0 ("max", no such file).
std::size_t number_in(const char* path) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  unsigned long long value = 0;
  if (std::fscanf(file, "%llu", &value) != 1) value = 0;
  std::fclose(file);
  return static_cast<std::size_t>(value);
}

std::size_t meminfo(const char* key) {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return 0;
  char line[128];
  unsigned long long kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, key, std::strlen(key)) == 0 &&
        std::sscanf(line + std::strlen(key), ": %llu", &kib) == 1)
      break;
  }
  std::fclose(file);
  return static_cast<std::size_t>(kib) << 10;
}

}  // namespace

std::size_t available_host_memory() {
  constexpr std::size_t kNoLimit = std::size_t{1} << 60;
  std::size_t limit = number_in("/sys/fs/cgroup/memory.max");
  std::size_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit == 0) {
    limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    used = number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes");
  }
  if (limit > 0 && limit < kNoLimit) return limit - std::min(limit, used);
  return meminfo("MemAvailable");
}

HostPool::HostPool(const cuda::Driver& driver, CUcontext context, std::size_t slot_size, std::size_t capacity)
    : driver_(driver),
      context_(context),
      slot_size_(slot_size),
      slab_size_(std::max(
          slot_size, std::min(kSlabBytes, std::max(capacity / 16 / slot_size, std::size_t{1}) * slot_size))),
      capacity_(capacity) {}

HostPool::~HostPool() { stop(); }

void HostPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (helper_.joinable()) helper_.join();
}

SlotId HostPool::take(SlotId after) {
  if (after != kNoSlot && after + 1 < slots_.size() && !slots_[after + 1].taken &&
      slots_[after + 1].address == slots_[after].address + slot_size_) {
    next_ = after + 1;
  } else if (taken_ == slots_.size() && !ensure_free(1)) {
    return kNoSlot;
  }
  while (slots_[next_ % slots_.size()].taken) ++next_;
  const auto slot = static_cast<SlotId>(next_ % slots_.size());
  next_ = (slot + 1) % static_cast<SlotId>(slots_.size());
  slots_[slot].taken = true;
  ++taken_;
  if (taken_ * 5 > slots_.size() * 4) {
    adopt_finished();
    const std::lock_guard lock(mutex_);
    const bool room = held_bytes() + (wanted_ + ready_.size() + 1) * slab_size_ <= capacity_;
    if (room && wanted_ == 0 && ready_.empty() && !failed_ && !stop_) {
      wanted_ = 1;
      if (!helper_.joinable()) helper_ = std::thread([this] { run_helper(); });
      wake_.notify_one();
    }
  }
  return slot;
}

void HostPool::give_back(SlotId slot) {
  slots_[slot].taken = false;
  --taken_;
}

bool HostPool::ensure_free(std::size_t slots) {
  adopt_finished();
  while (slots_.size() - taken_ < slots) {
    if (!add_slab()) return false;
  }
  return true;
}

bool HostPool::add_slab() {
  {
    std::unique_lock lock(mutex_);
    if (wanted_ > 0) {  // one is on its way: cheaper to wait for than to make beside it
      finished_.wait(lock, [this] { return wanted_ == 0; });
      if (ready_.empty()) return false;
    }
  }
  const std::size_t before = slots_.size();
  adopt_finished();
  if (slots_.size() > before) return true;
  if (held_bytes() + slab_size_ > capacity_) return false;
  std::byte* slab = make_slab();
  if (slab == nullptr) return false;
  adopt(slab);
  return true;
}

void HostPool::adopt_finished() {
  std::vector<std::byte*> finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(ready_);
  }
  for (std::byte* slab : finished) adopt(slab);
}

void HostPool::adopt(std::byte* slab) {
  for (std::size_t at = 0; at + slot_size_ <= slab_size_; at += slot_size_) {
    slots_.emplace_back();
    slots_.back().address = slab + at;
  }
}

std::byte* HostPool::make_slab() {
  void* memory = nullptr;
  const RelaxedCapture relaxed(driver_);
  if (driver_.cuMemHostAlloc(&memory, slab_size_, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS) return nullptr;
  return static_cast<std::byte*>(memory);
}

void HostPool::run_helper() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "tferry-host");
  driver_.cuCtxSetCurrent(context_);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || wanted_ > 0; });
    if (stop_) break;
    lock.unlock();
    std::byte* slab = make_slab();
    lock.lock();
    if (slab != nullptr) ready_.push_back(slab);
    failed_ = slab == nullptr;
    wanted_ = 0;
    finished_.notify_all();
  }
  wanted_ = 0;
  finished_.notify_all();
}

}  // namespace tferry::runtime
