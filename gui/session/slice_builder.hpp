#pragma once

#include "gui/session/lane.hpp"

#include <cstdint>
#include <vector>

namespace tferry::gui {

/// Turns the events of one lane, in the order of their start, into the items of a slice: events shorter than
/// `bucket_ns` that begin in the same bucket become one summary, so that a slice has at most two items for
/// each pixel, whatever the number of events. A summary's name is the one that most of its time belongs to
/// (majority vote: Boyer and Moore, MJRTY, 1981).
class SliceBuilder {
 public:
  /// 0: single events only.
  explicit SliceBuilder(std::int64_t bucket_ns, int rows = 1)
      : bucket_ns_(bucket_ns), open_(static_cast<std::size_t>(rows)) {}

  /// By start. A summary may be added, too.
  void add(const Item& event);
  /// Its items, by start. Call once.
  std::vector<Item> take();

 private:
  struct Open {
    Item item;
    std::int64_t bucket = 0;
    std::int64_t busy_ns = 0;
    std::int64_t votes = 0;
    bool used = false;
  };
  void flush(Open& open);

  std::int64_t bucket_ns_;
  std::vector<Open> open_;  ///< by row
  std::vector<Item> items_;
};

/// The same for curves: samples of the same bucket become one, whose mean is that over its time.
class SampleBuilder {
 public:
  explicit SampleBuilder(std::int64_t bucket_ns) : bucket_ns_(bucket_ns) {}

  /// By start. `total` is the integral over the sample, such as bytes; `high` its highest rate.
  void add(std::int64_t start_ns, std::int64_t end_ns, double total, double high);
  std::vector<Sample> take();

 private:
  std::int64_t bucket_ns_;
  std::vector<Sample> samples_;
  double total_ = 0;
};

/// Fills `part` of each sample with the rate of the bytes that these items moved meanwhile.
void attribute(std::vector<Sample>& samples, const std::vector<Item>& items);

}  // namespace tferry::gui
