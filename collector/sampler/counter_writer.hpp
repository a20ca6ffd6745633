#pragma once

#include "collector/sampler/counter_source.hpp"
#include "trace/spool_writer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tferry::collector {

/// Appends the samples of one GPU as counter records. Neighbouring quiet samples become one record over all
/// of their time with the sum of their values, at most `longest_quiet_ns` long: an idle link costs next to
/// nothing, and no byte is lost. Quiet is 0, or for counters that sum up (".sum") at most kQuietPerNs: a
/// thousandth of what a link carries. Threads: one.
class CounterWriter {
 public:
  static constexpr double kQuietPerNs = 0.05;  ///< bytes a nanosecond: 50 MB/s

  CounterWriter(trace::SpoolWriter& spool, std::int32_t device, std::span<const std::string> counters,
                std::int64_t longest_quiet_ns = 20'000'000);

  /// `offset_ns` is added to the times of the sample. Samples that end before they start are counted as lost.
  void write(const CounterSample& sample, std::int64_t offset_ns);
  /// Writes what is held back.
  void flush();

  std::int64_t bad_samples() const { return bad_samples_; }

 private:
  struct Counter {
    trace::StringId name = 0;
    bool sums_up = false;
    trace::CounterRecord held;  ///< quiet samples so far; end 0: none
  };

  static bool quiet(const Counter& counter, const trace::CounterRecord& record);
  void write_held(Counter& counter);

  trace::SpoolWriter& spool_;
  std::int32_t device_;
  std::vector<Counter> counters_;
  std::int64_t longest_quiet_ns_;
  std::int64_t bad_samples_ = 0;
};

}  // namespace tferry::collector
