#include "collector/sampler/counter_writer.hpp"

#include <algorithm>

namespace tferry::collector {

CounterWriter::CounterWriter(trace::SpoolWriter& spool, std::int32_t device,
                             std::span<const std::string> counters, std::int64_t longest_quiet_ns)
    : spool_(spool), device_(device), longest_quiet_ns_(longest_quiet_ns) {
  for (const std::string& name : counters) {
    counters_.push_back({spool.intern(name), name.ends_with(".sum"), {}});
  }
}

bool CounterWriter::quiet(const Counter& counter, const trace::CounterRecord& record) {
  const auto length = static_cast<double>(record.end_ns - record.time_ns);
  return record.value == 0 || (counter.sums_up && record.value > 0 && record.value <= kQuietPerNs * length);
}

void CounterWriter::write(const CounterSample& sample, std::int64_t offset_ns) {
  if (sample.end_ns < sample.start_ns || sample.start_ns <= 0) {
    ++bad_samples_;
    return;
  }
  for (std::size_t i = 0; i < std::min(counters_.size(), sample.values.size()); ++i) {
    Counter& counter = counters_[i];
    trace::CounterRecord record;
    record.time_ns = sample.start_ns + offset_ns;
    record.end_ns = sample.end_ns + offset_ns;
    record.counter = counter.name;
    record.value = sample.values[i];
    record.device = device_;
    trace::CounterRecord& held = counter.held;
    const bool is_quiet = quiet(counter, record);
    const bool adjoins = held.end_ns != 0 && is_quiet && record.time_ns == held.end_ns &&
                         record.end_ns - held.time_ns <= longest_quiet_ns_;
    if (adjoins) {
      held.end_ns = record.end_ns;
      held.value += record.value;
      continue;
    }
    write_held(counter);
    if (is_quiet) {
      held = record;
    } else {
      spool_.append(record);
    }
  }
}

void CounterWriter::write_held(Counter& counter) {
  if (counter.held.end_ns != 0) spool_.append(counter.held);
  counter.held.end_ns = 0;
}

void CounterWriter::flush() {
  for (Counter& counter : counters_) write_held(counter);
}

}  // namespace tferry::collector
