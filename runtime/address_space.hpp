#pragma once

#include "cuda/driver.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace tferry::runtime {

/// A reserved range of device addresses, handed out in whole chunks. Freed pieces are joined and used again,
/// lowest address first. Sizes in bytes, multiples of the chunk size. Under the runtime's lock.
class AddressRange {
 public:
  AddressRange() = default;
  AddressRange(CUdeviceptr begin, std::size_t size) : begin_(begin), size_(size) {
    free_.emplace(begin, size);
  }

  /// An address of `size` free bytes, or 0.
  CUdeviceptr take(std::size_t size);
  void give_back(CUdeviceptr address, std::size_t size);

  bool contains(CUdeviceptr address) const { return address - begin_ < size_; }
  CUdeviceptr begin() const { return begin_; }
  std::size_t size() const { return size_; }
  /// End of the highest address ever handed out.
  CUdeviceptr high_water() const { return high_water_; }

 private:
  CUdeviceptr begin_ = 0;
  std::size_t size_ = 0;
  CUdeviceptr high_water_ = 0;
  std::map<CUdeviceptr, std::size_t> free_;
};

/// The ONE range that all movable memory of all devices lies in (ALGORITHMS.md, rule 2), so that "is this
/// word an address of ours" is one comparison: reserved at the first allocation, divided evenly among the
/// devices.
class AddressSpace {
 public:
  /// Tries `wanted` bytes and halves until the driver agrees. False when even 1 GiB a device cannot be had.
  bool reserve(const cuda::Driver& driver, int devices, std::size_t alignment);
  /// What is left of the reservation goes back; nothing may be mapped in it.
  void release(const cuda::Driver& driver);

  bool contains(CUdeviceptr address) const { return address - begin_ < size_; }
  int device_of(CUdeviceptr address) const { return static_cast<int>((address - begin_) / per_device_); }
  AddressRange range_of(int device) const {
    return {begin_ + static_cast<std::size_t>(device) * per_device_, per_device_};
  }
  bool reserved() const { return size_ != 0; }

 private:
  CUdeviceptr begin_ = 0;
  std::size_t size_ = 0;
  std::size_t per_device_ = 0;
};

}  // namespace tferry::runtime
