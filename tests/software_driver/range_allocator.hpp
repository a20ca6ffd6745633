#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

namespace tferry::software_driver {

/// First-fit allocator of the offsets [0, extent), which can grow. Not thread-safe.
class RangeAllocator {
 public:
  explicit RangeAllocator(std::size_t extent = 0) { grow(extent); }

  std::size_t extent() const noexcept { return extent_; }
  bool empty() const noexcept { return taken_ == 0; }

  void grow(std::size_t size) {
    if (size == 0) return;
    extent_ += size;
    taken_ += size;
    give(extent_ - size, size);
  }

  std::optional<std::size_t> take(std::size_t size) {
    const auto hole =
        std::find_if(holes_.begin(), holes_.end(), [&](const auto& h) { return h.second >= size; });
    if (hole == holes_.end()) return std::nullopt;
    const auto [offset, whole] = *hole;
    holes_.erase(hole);
    if (whole > size) holes_.emplace(offset + size, whole - size);
    taken_ += size;
    return offset;
  }

  void give(std::size_t offset, std::size_t size) {
    taken_ -= size;
    const auto next = holes_.lower_bound(offset);
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        holes_.erase(before);
      }
    }
    if (next != holes_.end() && offset + size == next->first) {
      size += next->second;
      holes_.erase(next);
    }
    holes_.emplace(offset, size);
  }

 private:
  std::size_t extent_ = 0;
  std::size_t taken_ = 0;
  std::map<std::size_t, std::size_t> holes_;  ///< offset -> size, never adjacent
};

}  // namespace tferry::software_driver
