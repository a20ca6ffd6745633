#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tferry::runtime {

/// Index of a stream in the StreamTable.
using StreamIndex = std::uint32_t;
/// Operations of a stream are numbered from 1 in the order of their submission.
using Sequence = std::uint64_t;

/// A point in a stream: "operation `sequence` of `stream` has ended, and all before it".
struct Moment {
  StreamIndex stream;
  Sequence sequence;
};

/// A set of moments, at most one per stream (a later one of a stream implies the earlier). Clearing keeps the
/// storage, so that lists that are used again and again allocate nothing.
class Moments {
 public:
  void add(Moment moment) {
    for (Moment& known : moments_) {
      if (known.stream == moment.stream) {
        known.sequence = std::max(known.sequence, moment.sequence);
        return;
      }
    }
    moments_.push_back(moment);
  }
  void add(const Moments& others) {
    for (const Moment& moment : others.moments_) add(moment);
  }
  void assign(const Moments& others) { moments_.assign(others.moments_.begin(), others.moments_.end()); }
  void clear() { moments_.clear(); }
  bool empty() const { return moments_.empty(); }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(moments_, predicate);
  }
  auto begin() const { return moments_.begin(); }
  auto end() const { return moments_.end(); }

 private:
  std::vector<Moment> moments_;
};

}  // namespace tferry::runtime
