#include "runtime/address_space.hpp"

#include <algorithm>
#include <iterator>

namespace tferry::runtime {
namespace {

constexpr std::size_t kWantedPerDevice = std::size_t{1} << 40;
constexpr std::size_t kLeastPerDevice = std::size_t{1} << 30;
/// Every word of a launch's arguments that lies in our range names memory. Pairs of small numbers, which
/// structs are full of, look like low addresses, where the driver reserves by itself; few look like this one
/// and above.
constexpr CUdeviceptr kQuietAddress = CUdeviceptr{0x4C00} << 32;

}  // namespace

CUdeviceptr AddressRange::take(std::size_t size) {
  const auto fits =
      std::find_if(free_.begin(), free_.end(), [&](const auto& part) { return part.second >= size; });
  if (fits == free_.end()) return 0;
  const CUdeviceptr address = fits->first;
  const std::size_t rest = fits->second - size;
  free_.erase(fits);
  if (rest > 0) free_.emplace(address + size, rest);
  high_water_ = std::max<CUdeviceptr>(high_water_, address + size);
  return address;
}

void AddressRange::give_back(CUdeviceptr address, std::size_t size) {
  auto after = free_.lower_bound(address);
  if (after != free_.end() && after->first == address + size) {
    size += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += size;
      return;
    }
  }
  free_.emplace(address, size);
}

bool AddressSpace::reserve(const cuda::Driver& driver, int devices, std::size_t alignment) {
  const auto count = static_cast<std::size_t>(std::max(devices, 1));
  for (std::size_t per_device = kWantedPerDevice; per_device >= kLeastPerDevice; per_device /= 2) {
    for (const CUdeviceptr hint : {kQuietAddress, CUdeviceptr{0}}) {
      if (driver.cuMemAddressReserve(&begin_, per_device * count, alignment, hint, 0) != CUDA_SUCCESS)
        continue;
      size_ = per_device * count;
      per_device_ = per_device;
      return true;
    }
  }
  begin_ = 0;
  return false;
}

void AddressSpace::release(const cuda::Driver& driver) {
  if (size_ != 0) driver.cuMemAddressFree(begin_, size_);
  begin_ = 0;
  size_ = 0;
}

}  // namespace tferry::runtime
