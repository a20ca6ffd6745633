#include "tests/software_driver/pages.hpp"

#include "tests/software_driver/entry.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <mutex>
#include <string_view>
#include <sys/mman.h>

namespace tferry::software_driver {
namespace {

constexpr std::size_t kUnit = std::size_t{64} << 10;
constexpr std::size_t kMostRanges = 32;
constexpr std::size_t kMostEvents = std::size_t{1} << 16;

/// Read by the signal handler: whole once `base` is set.
struct Range {
  std::atomic<std::uintptr_t> base = 0;
  std::size_t size = 0;
  int device = 0;
  std::atomic<std::uint8_t>* away = nullptr;  ///< by unit
};

std::atomic<const SwdObserver*> observer = nullptr;
std::array<Range, kMostRanges> ranges;
std::mutex mutex;  ///< who makes and ends ranges, and who tells

/// A ring that a signal handler may write to.
struct Slot {
  SwdPageEvent event;
  std::atomic<bool> whole = false;
};
std::array<Slot, kMostEvents> ring;
std::atomic<std::uint64_t> written = 0;
std::uint64_t told = 0;

// Initial-exec, so that the handler never allocates it.
thread_local __attribute__((tls_model("initial-exec"))) bool in_kernel = false;

std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void note(const SwdPageEvent& event) noexcept {
  Slot& slot = ring[written.fetch_add(1) % kMostEvents];
  slot.event = event;
  slot.whole.store(true, std::memory_order_release);
}

void tell() {
  const SwdObserver* to = observer.load();
  const std::lock_guard lock(mutex);
  for (; told < written.load(); ++told) {
    Slot& slot = ring[told % kMostEvents];
    if (!slot.whole.exchange(false, std::memory_order_acquire)) return;
    if (to != nullptr && to->page_event != nullptr) to->page_event(&slot.event);
  }
}

Range* range_of(std::uintptr_t address) noexcept {
  for (Range& range : ranges) {
    const std::uintptr_t base = range.base.load(std::memory_order_acquire);
    if (base != 0 && address >= base && address - base < range.size) return &range;
  }
  return nullptr;
}

void open_pages(const Range& range, std::size_t unit, std::size_t units) noexcept {
  const std::size_t end = std::min((unit + units) * kUnit, range.size);
  mprotect(reinterpret_cast<void*>(range.base.load() + unit * kUnit), end - unit * kUnit,
           PROT_READ | PROT_WRITE);
}

}  // namespace

void pages_begin(std::uintptr_t base, std::size_t size, int device) {
  if (observer.load() == nullptr) return;
  const std::lock_guard lock(mutex);
  for (Range& range : ranges) {
    if (range.base.load() != 0) continue;
    range.size = size;
    range.device = device;
    range.away = new std::atomic<std::uint8_t>[(size + kUnit - 1) / kUnit]();
    range.base.store(base, std::memory_order_release);
    return;
  }
}

void pages_end(std::uintptr_t base) {
  const std::lock_guard lock(mutex);
  for (Range& range : ranges) {
    if (range.base.load() != base) continue;
    range.base.store(0);
    delete[] range.away;
    range.away = nullptr;
  }
}

void bring_pages(std::uintptr_t address, std::size_t size, int to) {
  if (observer.load() == nullptr) return;
  Range* range = range_of(address);
  if (range == nullptr || size == 0) return;
  const std::size_t first = (address - range->base.load()) / kUnit;
  const std::size_t last = (address + size - 1 - range->base.load()) / kUnit;
  const std::uint8_t away = to < 0 ? 1 : 0;
  for (std::size_t unit = first; unit <= last; ++unit) {
    if (range->away[unit].exchange(away) == away) continue;
    note({to < 0 ? SwdPageEvent::kToHost : SwdPageEvent::kToDevice, range->base.load() + unit * kUnit, kUnit,
          0, 1, to < 0 ? range->device : to, now_ns()});
  }
  if (away == 0) {
    open_pages(*range, first, last - first + 1);
  } else {
    const std::size_t end = std::min((last + 1) * kUnit, range->size);
    mprotect(reinterpret_cast<void*>(range->base.load() + first * kUnit), end - first * kUnit, PROT_NONE);
  }
  tell();
}

bool resolve_page_fault(std::uintptr_t address, bool write) noexcept {
  Range* range = range_of(address);
  if (range == nullptr) return false;
  const std::size_t unit = (address - range->base.load()) / kUnit;
  const bool was_away = range->away[unit].exchange(0) != 0;
  if (was_away && in_kernel) {
    const std::int64_t now = now_ns();
    note({SwdPageEvent::kFault, address / 4096 * 4096, 4096, write ? 1 : 0, 0, range->device, now});
    note({SwdPageEvent::kToDevice, range->base.load() + unit * kUnit, kUnit, 0, 0, range->device, now});
  }
  open_pages(*range, unit, 1);
  return true;
}

void kernel_begins() noexcept { in_kernel = true; }

void kernel_ended() {
  in_kernel = false;
  if (observer.load() != nullptr) tell();
}

void tell_context_created(void* context, int device) {
  const SwdObserver* to = observer.load();
  if (to != nullptr && to->context_created != nullptr) to->context_created(context, device);
}

void inject() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* wanted = std::getenv("SWD_INJECT");
    const char* path = std::getenv("CUDA_INJECTION64_PATH");
    if (wanted == nullptr || std::string_view(wanted) != "1" || path == nullptr) return;
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) return;
    const auto begin = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
    if (begin != nullptr) begin();
  });
}

}  // namespace tferry::software_driver

SWD_EXPORT void swd_observe(const SwdObserver* observer) {
  tferry::software_driver::observer.store(observer);
}
