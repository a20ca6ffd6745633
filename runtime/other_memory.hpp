#pragma once

#include "trace/records.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

namespace tferry::runtime {

class Recorder;

/// Memory that the program has from the driver itself, and that stays where it is: managed, pinned, virtual,
/// of pools that the program made, and arrays. Known only where the whole job is recorded. Under the
/// runtime's lock.
class OtherMemory {
 public:
  struct Found {
    std::uint64_t allocation = 0;  ///< as recorded
    std::uint64_t address = 0;
  };

  explicit OtherMemory(Recorder& recorder) : recorder_(recorder) {}

  /// `device` is -1 for memory of the host. What was at the same address before is gone: its release was not
  /// seen.
  void allocated(trace::AllocationApi api, std::uint64_t address, std::size_t bytes, int device);
  /// Before it is released. Not ours: nothing happens.
  void freed(std::uint64_t address);
  /// The same for everything in a range, since a call may unmap several mappings at once.
  void unmapped(std::uint64_t address, std::size_t bytes);
  /// Arrays have no address that a kernel could name: they are known by their handles.
  void array_made(const void* handle, std::size_t bytes, int device);
  void array_destroyed(const void* handle);

  /// A call about a pool, which only tells.
  void pool_operation(const trace::PoolOperationRecord& call);

  /// What a word points into, if it does. Costs two comparisons for most words.
  std::optional<Found> find(std::uint64_t word) const {
    if (word < lowest_ || word >= highest_) return std::nullopt;
    return find_between(word);
  }

 private:
  struct Entry {
    std::uint64_t allocation = 0;
    std::size_t bytes = 0;
  };
  std::optional<Found> find_between(std::uint64_t word) const;
  std::uint64_t record(trace::AllocationApi api, std::uint64_t address, std::size_t bytes, int device);

  Recorder& recorder_;
  std::map<std::uint64_t, Entry> by_address_;
  std::unordered_map<const void*, std::uint64_t> arrays_;
  std::uint64_t made_ = 0;
  std::uint64_t lowest_ = ~std::uint64_t{0}, highest_ = 0;
};

}  // namespace tferry::runtime
