#include "gui/session/slice_builder.hpp"

#include <algorithm>

namespace tferry::gui {

void SliceBuilder::add(const Item& event) {
  const std::int64_t duration = event.end_ns - event.start_ns;
  const auto busy_ns =
      static_cast<std::int64_t>(static_cast<double>(duration) * static_cast<double>(event.busy));
  if (bucket_ns_ <= 0 || duration >= bucket_ns_) {
    items_.push_back(event);
    return;
  }
  Open& open = open_[std::min<std::size_t>(event.row, open_.size() - 1)];
  const std::int64_t bucket = event.start_ns / bucket_ns_;
  if (open.used && open.bucket != bucket) flush(open);
  if (!open.used) {
    open = {event, bucket, busy_ns, std::max<std::int64_t>(1, busy_ns), true};
    return;
  }
  open.item.id = 0;
  open.item.count += event.count;
  open.item.bytes += event.bytes;
  open.item.late_ns = std::max(open.item.late_ns, event.late_ns);
  open.item.end_ns = std::max(open.item.end_ns, event.end_ns);
  open.busy_ns += busy_ns;
  if (event.name_id == open.item.name_id) {
    open.votes += busy_ns;
  } else if ((open.votes -= busy_ns) < 0) {
    open.item.name_id = event.name_id;
    open.item.tone = event.tone;
    open.votes = -open.votes;
  }
}

void SliceBuilder::flush(Open& open) {
  const std::int64_t length = std::max<std::int64_t>(1, open.item.end_ns - open.item.start_ns);
  if (open.item.id == 0)
    open.item.busy =
        static_cast<float>(std::min(1.0, static_cast<double>(open.busy_ns) / static_cast<double>(length)));
  items_.push_back(open.item);
  open.used = false;
}

std::vector<Item> SliceBuilder::take() {
  for (Open& open : open_) {
    if (open.used) flush(open);
  }
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& a, const Item& b) { return a.start_ns < b.start_ns; });
  return std::move(items_);
}

void SampleBuilder::add(std::int64_t start_ns, std::int64_t end_ns, double total, double high) {
  const auto length = static_cast<double>(std::max<std::int64_t>(1, end_ns - start_ns));
  if (!samples_.empty() && bucket_ns_ > 0 && end_ns - start_ns < bucket_ns_ &&
      samples_.back().start_ns / bucket_ns_ == start_ns / bucket_ns_) {
    Sample& last = samples_.back();
    total_ += total;
    last.end_ns = std::max(last.end_ns, end_ns);
    last.high = std::max(last.high, high);
    last.mean = total_ / static_cast<double>(last.end_ns - last.start_ns) * 1e9;
    return;
  }
  total_ = total;
  samples_.push_back({start_ns, end_ns, total / length * 1e9, high, 0, 0});
}

std::vector<Sample> SampleBuilder::take() { return std::move(samples_); }

void attribute(std::vector<Sample>& samples, const std::vector<Item>& items) {
  std::size_t first = 0;
  for (const Item& item : items) {
    const auto length = static_cast<double>(std::max<std::int64_t>(1, item.end_ns - item.start_ns));
    while (first < samples.size() && samples[first].end_ns <= item.start_ns) ++first;
    for (std::size_t i = first; i < samples.size() && samples[i].start_ns < item.end_ns; ++i) {
      Sample& sample = samples[i];
      const std::int64_t overlap =
          std::min(item.end_ns, sample.end_ns) - std::max(item.start_ns, sample.start_ns);
      if (overlap <= 0) continue;
      sample.part += static_cast<double>(item.bytes) * static_cast<double>(overlap) / length /
                     static_cast<double>(sample.end_ns - sample.start_ns) * 1e9;
    }
  }
  for (Sample& sample : samples) sample.part = std::min(sample.part, sample.mean);
}

}  // namespace tferry::gui
