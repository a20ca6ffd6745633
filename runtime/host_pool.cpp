#include "runtime/host_pool.hpp"

#include "runtime/capture_guard.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <system_error>

namespace tferry::runtime {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{256} << 20;
constexpr std::size_t kRegisterBytes = std::size_t{64} << 20;

/// Writes one byte of every page, on a few threads: faulting pages in is what takes the time.
void touch_pages(std::byte* begin, std::size_t size) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kPage = 4096;
  const auto touch = [](std::byte* from, std::byte* to) {
    for (volatile std::byte* page = from; page < to; page += kPage) *page = std::byte{0};
  };
  std::vector<std::thread> threads;
  const std::size_t part = (size / kThreads + kPage - 1) / kPage * kPage;
  try {
    for (std::size_t i = 1; i < kThreads; ++i) {
      threads.emplace_back(touch, begin + std::min(size, i * part), begin + std::min(size, (i + 1) * part));
    }
  } catch (const std::system_error&) {
    touch(begin + std::min(size, (threads.size() + 1) * part), begin + size);
  }
  touch(begin, begin + std::min(size, part));
  for (std::thread& thread : threads) thread.join();
}

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

HostPool::~HostPool() {
  stop();
  adopt_finished();
  // The context may be gone already, and the registrations with it.
  for (std::size_t at = 0; at < slots_.size(); at += slab_size_ / slot_size_)
    release_slab(slots_[at].address);
}

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

bool HostPool::neighbours(SlotId a, SlotId b) const {
  const std::size_t in_slab = b % (slab_size_ / slot_size_) * slot_size_;
  return slots_[b].address == slots_[a].address + slot_size_ && in_slab % kRegisterBytes != 0;
}

bool HostPool::ensure_free(std::size_t slots) {
  // Nothing is pinned for a wish that cannot be met.
  if (slots > capacity_ / slot_size_ || (taken_ + slots) * slot_size_ > capacity_) return false;
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

/// Pages are touched by several threads and then registered part by part: 4 to 14 GiB/s, against 2.5 for
/// cuMemHostAlloc, which besides holds up every other thread's driver calls for as long as it runs
/// (docs/results/experiments.md, "host_alloc").
std::byte* HostPool::make_slab() {
  void* memory = mmap(nullptr, slab_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, slab_size_, MADV_HUGEPAGE);
  madvise(memory, slab_size_,
          MADV_DONTFORK);  // a child's copy-on-write must not move pages that the GPU writes
  auto* slab = static_cast<std::byte*>(memory);
  touch_pages(slab, slab_size_);
  const RelaxedCapture relaxed(driver_);
  for (std::size_t at = 0; at < slab_size_; at += kRegisterBytes) {
    const std::size_t part = std::min(kRegisterBytes, slab_size_ - at);
    if (driver_.cuMemHostRegister_v2(slab + at, part, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS) continue;
    release_slab(slab);
    return nullptr;
  }
  return slab;
}

void HostPool::release_slab(std::byte* slab) {
  for (std::size_t at = 0; at < slab_size_; at += kRegisterBytes) driver_.cuMemHostUnregister(slab + at);
  munmap(static_cast<void*>(slab), slab_size_);
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
