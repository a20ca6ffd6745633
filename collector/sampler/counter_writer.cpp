#include "collector/sampler/counter_writer.hpp"

#include <algorithm>

namespace tferry::collector {

CounterWriter::CounterWriter(trace::SpoolWriter& spool, std::int32_t device,
                             std::span<const std::string> counters, std::int64_t longest_zero_ns)
    : spool_(spool), device_(device), zeros_(counters.size()), longest_zero_ns_(longest_zero_ns) {
  for (const std::string& counter : counters) ids_.push_back(spool.intern(counter));
}

void CounterWriter::write(const CounterSample& sample, std::int64_t offset_ns) {
  if (sample.end_ns < sample.start_ns || sample.start_ns <= 0) {
    ++bad_samples_;
    return;
  }
  for (std::size_t i = 0; i < std::min(ids_.size(), sample.values.size()); ++i) {
    trace::CounterRecord record;
    record.time_ns = sample.start_ns + offset_ns;
    record.end_ns = sample.end_ns + offset_ns;
    record.counter = ids_[i];
    record.value = sample.values[i];
    record.device = device_;
    trace::CounterRecord& zero = zeros_[i];
    const bool adjoins = zero.end_ns != 0 && record.value == 0 && record.time_ns == zero.end_ns &&
                         record.end_ns - zero.time_ns <= longest_zero_ns_;
    if (adjoins) {
      zero.end_ns = record.end_ns;
      continue;
    }
    write_zero(zero);
    if (record.value == 0) {
      zero = record;
    } else {
      spool_.append(record);
    }
  }
}

void CounterWriter::write_zero(trace::CounterRecord& zero) {
  if (zero.end_ns != 0) spool_.append(zero);
  zero.end_ns = 0;
}

void CounterWriter::flush() {
  for (trace::CounterRecord& zero : zeros_) write_zero(zero);
}

}  // namespace tferry::collector
