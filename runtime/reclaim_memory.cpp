#include "runtime/reclaim_memory.hpp"

#include <algorithm>

namespace tferry::runtime {

void ReclaimMemory::advance(std::uint64_t signature) {
  signatures_[operations_++ % kWindow] = signature;
  ++position_;
  if (operations_ < kWindow) return;
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kWindow; ++i) {
    hash = (hash ^ signatures_[(operations_ + i) % kWindow]) * 0x9E37'79B9'7F4A'7C15ULL;
    hash ^= hash >> 29;
  }
  if (windows_.size() >= kMostWindows) windows_.clear();
  Window& window = windows_[hash];
  const std::uint64_t distance = window.last != 0 ? operations_ - window.last : 0;
  if (distance > period_ && distance == window.distance) {
    period_ = distance;
    begins_with_ = hash;
    iterations_ = 0;
    uses_.clear();
  }
  window = {operations_, distance};
  if (hash == begins_with_) {
    position_ = 0;
    ++iterations_;
  }
  if (position_ <= kForgetAfter * period_) return;
  period_ = begins_with_ = 0;  // the program does something else by now
  uses_.clear();
}

std::uint64_t ReclaimMemory::use(std::size_t index) const {
  if (period_ == 0 || index >= kMostBlocks) return kUnknown;
  return (position_ + 1) * kMostBlocks + index;
}

std::size_t ReclaimMemory::pieces_after(std::uint64_t use) {
  const auto found = uses_.find(use);
  if (use == kUnknown || found == uses_.end()) return 0;
  found->second.known = std::max(found->second.known, found->second.now);
  found->second.now = 0;
  return found->second.known;
}

void ReclaimMemory::reclaimed(std::uint64_t use, std::size_t pieces) {
  if (use == kUnknown || iterations_ > kLearning) return;
  uses_[use].now += pieces;
}

}  // namespace tferry::runtime
