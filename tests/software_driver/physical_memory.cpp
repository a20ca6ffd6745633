#include "tests/software_driver/physical_memory.hpp"

#include "tests/software_driver/error.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tferry::software_driver {
namespace {

bool poison(int file, std::size_t offset, std::size_t size) {
  const std::vector<unsigned char> pattern(std::min<std::size_t>(size, 65536), 0xa5);
  for (std::size_t done = 0; done < size;) {
    const std::size_t piece = std::min(pattern.size(), size - done);
    const ssize_t written = pwrite(file, pattern.data(), piece, static_cast<off_t>(offset + done));
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

PhysicalMemory::PhysicalMemory(const char* name, std::size_t capacity)
    : file_(memfd_create(name, MFD_CLOEXEC)), capacity_(capacity) {
  require(file_ >= 0, CUDA_ERROR_OPERATING_SYSTEM);
}

PhysicalMemory::~PhysicalMemory() { close(file_); }

std::size_t PhysicalMemory::capacity() const {
  const std::lock_guard lock(mutex_);
  return capacity_;
}

std::size_t PhysicalMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::size_t PhysicalMemory::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void PhysicalMemory::set_capacity(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

void PhysicalMemory::clear_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = used_;
}

void PhysicalMemory::set_poison(bool on) {
  const std::lock_guard lock(mutex_);
  poison_ = on;
}

std::optional<std::size_t> PhysicalMemory::allocate(std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (used_ > capacity_ || size > capacity_ - used_) return std::nullopt;
  auto offset = offsets_.take(size);
  if (!offset) {
    const std::size_t end = offsets_.extent();
    if (ftruncate(file_, static_cast<off_t>(end + size)) != 0) return std::nullopt;
    offsets_.grow(size);
    offset = offsets_.take(size);
  }
  if (poison_ && !poison(file_, *offset, size)) {
    offsets_.give(*offset, size);
    return std::nullopt;
  }
  used_ += size;
  peak_ = std::max(peak_, used_);
  return offset;
}

void PhysicalMemory::free(std::size_t offset, std::size_t size) {
  const std::lock_guard lock(mutex_);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
  used_ -= size;
  offsets_.give(offset, size);
}

Chunk::Chunk(PhysicalMemory& physical, std::size_t bytes) : memory(physical), size(bytes), offset(0) {
  const auto place = memory.allocate(size);
  require(place.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
  offset = *place;
}

Chunk::~Chunk() { memory.free(offset, size); }

}  // namespace tferry::software_driver
