#pragma once

#include "tests/software_driver/error.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tferry::software_driver {

/// A value that no handle had before, of any kind. It is not a canonical address, so that a program that
/// follows one as a pointer faults at once.
inline std::uint64_t next_handle_value() {
  static std::atomic<std::uint64_t> last{0};
  return 0x0dd0'0000'0000'0000 + 16 * (1 + last.fetch_add(1, std::memory_order_relaxed));
}

/// Objects that the program knows by handle. Handles are never used twice, so that using one after its object
/// was destroyed is always an error. Thread-safe.
template <class Handle, class Object>
class HandleTable {
  static_assert(sizeof(Handle) == sizeof(std::uint64_t));

 public:
  Handle insert(std::shared_ptr<Object> object) {
    const std::uint64_t value = next_handle_value();
    const std::lock_guard lock(mutex_);
    objects_.emplace(value, std::move(object));
    return std::bit_cast<Handle>(value);
  }

  /// Null when there is no such object.
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(std::bit_cast<std::uint64_t>(handle));
    return at == objects_.end() ? nullptr : at->second;
  }

  std::shared_ptr<Object> get(Handle handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) const {
    auto object = find(handle);
    require(object != nullptr, otherwise);
    return object;
  }

  std::shared_ptr<Object> remove(Handle handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(std::bit_cast<std::uint64_t>(handle));
    require(at != objects_.end(), otherwise);
    auto object = std::move(at->second);
    objects_.erase(at);
    return object;
  }

  /// Removes what `unwanted(object)` says and gives it back. The predicate must not use this table.
  template <class Predicate>
  std::vector<std::shared_ptr<Object>> remove_if(Predicate unwanted) {
    std::vector<std::shared_ptr<Object>> removed;
    const std::lock_guard lock(mutex_);
    for (auto at = objects_.begin(); at != objects_.end();) {
      if (unwanted(*at->second)) {
        removed.push_back(std::move(at->second));
        at = objects_.erase(at);
      } else {
        ++at;
      }
    }
    return removed;
  }

  /// All for which `wanted(object)` holds.
  template <class Predicate>
  std::vector<std::shared_ptr<Object>> select(Predicate wanted) const {
    std::vector<std::shared_ptr<Object>> selected;
    const std::lock_guard lock(mutex_);
    for (const auto& [value, object] : objects_) {
      if (wanted(*object)) selected.push_back(object);
    }
    return selected;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace tferry::software_driver
