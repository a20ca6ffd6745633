#pragma once

#include "trace/records.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tferry::trace {

/// Of the records that went through it, those that later ones refer to: the process, cards, contexts,
/// streams, links, strings, ranges, losses, and the allocations that are not freed yet. Who begins to read
/// after them needs these first.
///
/// Memory: distinct strings and what is alive. Throws std::bad_alloc. Threads: one at a time.
class LastingRecords {
 public:
  /// The payload of a block of a spool.
  void observe(std::span<const std::byte> payload);
  /// Hands all of them to `take(bytes)`, one whole record with its header and padding after the other, in an
  /// order in which they can be read.
  template <typename Take>
  void for_each(Take&& take) const;

 private:
  using Bytes = std::vector<std::byte>;
  std::vector<Bytes> kept_;
  std::map<std::uint64_t, Bytes> live_;  ///< by allocation
};

template <typename Take>
void LastingRecords::for_each(Take&& take) const {
  for (const Bytes& record : kept_) take(std::span<const std::byte>(record));
  for (const auto& [allocation, record] : live_) take(std::span<const std::byte>(record));
}

}  // namespace tferry::trace
