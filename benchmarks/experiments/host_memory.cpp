#include "benchmarks/experiments/host_memory.hpp"

#include "benchmarks/experiments/driver.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <vector>

namespace tferry::experiments {
namespace {

constexpr std::size_t kPage = 4096;

void touch(volatile std::byte* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPage) data[at] = std::byte{1};
}

void touch_by_threads(std::byte* data, std::size_t bytes, int threads) {
  std::vector<std::thread> workers;
  const std::size_t share = bytes / static_cast<std::size_t>(threads) / kPage * kPage;
  for (int i = 1; i < threads; ++i) {
    workers.emplace_back(touch, data + static_cast<std::size_t>(i) * share,
                         i + 1 == threads ? bytes - static_cast<std::size_t>(i) * share : share);
  }
  touch(data, threads == 1 ? bytes : share);
  for (auto& worker : workers) worker.join();
}

}  // namespace

std::unique_ptr<HostSlab> HostSlab::from_driver(std::size_t bytes) {
  std::unique_ptr<HostSlab> slab(new HostSlab);
  slab->bytes_ = bytes;
  slab->times_.pin_us =
      time_us([&] { TFERRY_CU(cuMemHostAlloc(&slab->data_, bytes, CU_MEMHOSTALLOC_PORTABLE)); });
  slab->from_driver_ = true;
  return slab;
}

std::unique_ptr<HostSlab> HostSlab::registered(std::size_t bytes, bool huge, int threads) {
  std::unique_ptr<HostSlab> slab(new HostSlab);
  slab->times_.map_us = time_us([&] {
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    slab->data_ = data;
    slab->bytes_ = bytes;
    // A refusal costs speed only, and that is what is measured.
    madvise(data, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  });
  slab->times_.prefault_us =
      time_us([&] { touch_by_threads(static_cast<std::byte*>(slab->data_), bytes, threads); });
  slab->times_.pin_us =
      time_us([&] { TFERRY_CU(cuMemHostRegister(slab->data_, bytes, CU_MEMHOSTREGISTER_PORTABLE)); });
  slab->registered_ = true;
  return slab;
}

HostSlab::~HostSlab() {
  if (from_driver_) {
    cuMemFreeHost(data_);
    return;
  }
  if (registered_) cuMemHostUnregister(data_);
  if (data_) munmap(data_, bytes_);
}

}  // namespace tferry::experiments
