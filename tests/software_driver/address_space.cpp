#include "tests/software_driver/address_space.hpp"

#include "tests/software_driver/error.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tferry::software_driver {
namespace {

// Straight to the kernel, past the interceptors of the sanitizers, which would touch shadow memory in
// proportion to a reservation of terabytes.
Address system_map(Address at, std::size_t size, int protection, int flags, int file, std::size_t offset) {
  const long result = syscall(SYS_mmap, at, size, protection, flags, file, offset);
  require(result != -1, CUDA_ERROR_OUT_OF_MEMORY);
  return static_cast<Address>(result);
}

void system_unmap(Address at, std::size_t size) { syscall(SYS_munmap, at, size); }

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kLargestReservation = std::size_t{512} << 30;  // its shadow covers little more
#else
constexpr std::size_t kLargestReservation = std::size_t{64} << 40;
#endif

int protection_of(const AddressSpace::Mapping& mapping) {
  unsigned flags = mapping.host_access;
  for (const unsigned access : mapping.access) flags = std::max(flags, access);
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return PROT_READ | PROT_WRITE;
  return flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : PROT_NONE;
}

}  // namespace

Address AddressSpace::reserve(std::size_t size, std::size_t alignment, Address hint) {
  require(size > 0 && (alignment == 0 || std::has_single_bit(alignment)));
  require(size <= kLargestReservation, CUDA_ERROR_OUT_OF_MEMORY);
  alignment = std::max<std::size_t>(alignment, 4096);
  const std::unique_lock lock(mutex_);
  if (hint != 0 && hint % alignment == 0) {
    const long at = syscall(SYS_mmap, hint, size, PROT_NONE, kReserved | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != -1 && static_cast<Address>(at) == hint) {
      reservations_.emplace(hint, size);
      return hint;
    }
    if (at != -1) system_unmap(static_cast<Address>(at), size);
  }
  const std::size_t whole = size + alignment - 4096;
  const Address start = system_map(0, whole, PROT_NONE, kReserved, -1, 0);
  const Address base = (start + alignment - 1) & ~(alignment - 1);
  if (base > start) system_unmap(start, base - start);
  if (start + whole > base + size) system_unmap(base + size, start + whole - (base + size));
  reservations_.emplace(base, size);
  return base;
}

void AddressSpace::free(Address base, std::size_t size) {
  const std::unique_lock lock(mutex_);
  const auto at = reservations_.find(base);
  require(at != reservations_.end() && at->second == size);
  const auto mapping = mappings_.lower_bound(base);
  require(mapping == mappings_.end() || mapping->first >= base + size);
  system_unmap(base, size);
  reservations_.erase(at);
}

void AddressSpace::map(Address base, std::shared_ptr<Chunk> chunk) {
  const std::unique_lock lock(mutex_);
  const std::size_t size = chunk->size;
  auto reservation = reservations_.upper_bound(base);
  require(reservation != reservations_.begin());
  --reservation;
  require(base - reservation->first <= reservation->second &&
          size <= reservation->second - (base - reservation->first));
  const auto next = mappings_.lower_bound(base);
  require(next == mappings_.end() || next->first >= base + size);
  if (next != mappings_.begin()) {
    const auto before = std::prev(next);
    require(before->first + before->second.chunk->size <= base);
  }
  system_map(base, size, PROT_NONE, MAP_SHARED | MAP_FIXED, chunk->memory.file(), chunk->offset);
  mappings_.emplace(base, Mapping{base, std::move(chunk), {}, 0});
}

std::pair<AddressSpace::Mappings::iterator, AddressSpace::Mappings::iterator> AddressSpace::covering(
    Address base, std::size_t size) {
  const auto first = mappings_.find(base);
  require(first != mappings_.end());
  auto last = first;
  Address end = base;
  while (end < base + size) {
    require(last != mappings_.end() && last->first == end);
    end += last->second.chunk->size;
    ++last;
  }
  require(end == base + size);
  return {first, last};
}

void AddressSpace::unmap(Address base, std::size_t size) {
  const std::unique_lock lock(mutex_);
  const auto [first, last] = covering(base, size);
  system_map(base, size, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  mappings_.erase(first, last);
}

void AddressSpace::set_access(Address base, std::size_t size, int device, unsigned flags) {
  const std::unique_lock lock(mutex_);
  const auto [first, last] = covering(base, size);
  for (auto at = first; at != last; ++at) {
    Mapping& mapping = at->second;
    if (device < 0) {
      mapping.host_access = flags;
    } else {
      if (mapping.access.size() <= static_cast<std::size_t>(device)) {
        mapping.access.resize(static_cast<std::size_t>(device) + 1);
      }
      mapping.access[static_cast<std::size_t>(device)] = flags;
    }
    require(syscall(SYS_mprotect, at->first, mapping.chunk->size, protection_of(mapping)) == 0,
            CUDA_ERROR_OUT_OF_MEMORY);
  }
}

std::optional<AddressSpace::Mapping> AddressSpace::mapping_at(Address address) const {
  const std::shared_lock lock(mutex_);
  auto at = mappings_.upper_bound(address);
  if (at == mappings_.begin()) return std::nullopt;
  --at;
  if (address - at->first >= at->second.chunk->size) return std::nullopt;
  return at->second;
}

std::optional<AddressSpace::Range> AddressSpace::reservation_at(Address address) const {
  const std::shared_lock lock(mutex_);
  auto at = reservations_.upper_bound(address);
  if (at == reservations_.begin()) return std::nullopt;
  --at;
  if (address - at->first >= at->second) return std::nullopt;
  return Range{at->first, at->second};
}

std::size_t AddressSpace::mapping_count() const {
  const std::shared_lock lock(mutex_);
  return mappings_.size();
}

std::size_t AddressSpace::reservation_count() const {
  const std::shared_lock lock(mutex_);
  return reservations_.size();
}

}  // namespace tferry::software_driver
