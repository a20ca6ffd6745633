#pragma once

#include "collector/sampler/counter_source.hpp"
#include "trace/spool_writer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tferry::collector {

/// Appends the samples of one GPU as counter records. Neighbouring samples with value 0 become one record
/// over all of their time, at most `longest_zero_ns` long: an idle link costs next to nothing. Threads: one.
class CounterWriter {
 public:
  CounterWriter(trace::SpoolWriter& spool, std::int32_t device, std::span<const std::string> counters,
                std::int64_t longest_zero_ns = 100'000'000);

  /// `offset_ns` is added to the times of the sample. Samples that end before they start are counted as lost.
  void write(const CounterSample& sample, std::int64_t offset_ns);
  /// Writes what zeros are held back.
  void flush();

  std::int64_t bad_samples() const { return bad_samples_; }

 private:
  void write_zero(trace::CounterRecord& zero);

  trace::SpoolWriter& spool_;
  std::int32_t device_;
  std::vector<trace::StringId> ids_;
  std::vector<trace::CounterRecord> zeros_;  ///< by counter; end 0: none held
  std::int64_t longest_zero_ns_;
  std::int64_t bad_samples_ = 0;
};

}  // namespace tferry::collector
