#pragma once

#include "collector/sampler/clock_alignment.hpp"
#include "collector/sampler/counter_source.hpp"
#include "collector/sampler/counter_writer.hpp"
#include "trace/spool_writer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tferry::collector {

/// Reads all sources into one spool until told to stop. Whatever goes wrong with one GPU is a loss record;
/// the others go on. The error of the clock alignment is a counter of its own, tferry.clock_error_ns, one
/// record for each alignment. Threads: one.
class Sampler {
 public:
  struct Options {
    std::int64_t align_every_ns = 10'000'000'000;  ///< restarts sampling for it: a gap of a millisecond or so
    int first_rounds = 4;                          ///< alignment rounds before the first sample counts
  };
  /// Waits for the next time to read; false: the end. The second argument is the time to wait in ns.
  using Wait = std::function<bool(std::int64_t)>;

  Sampler(trace::SpoolWriter& spool, std::vector<std::unique_ptr<CounterSource>> sources, Options options);

  /// Starts the sources; the number that sample.
  int start(const Wait& wait);
  /// Reads every `read_every_ns` until `wait` says that it is the end.
  void run(std::int64_t read_every_ns, const Wait& wait);

 private:
  struct Channel {
    Channel(std::unique_ptr<CounterSource> from, CounterWriter to)
        : source(std::move(from)), writer(std::move(to)) {}
    std::unique_ptr<CounterSource> source;
    CounterWriter writer;
    ClockAlignment clock;
    bool sampling = false;
    bool overflow_told = false;
    std::int64_t aligned_ns = 0;
    ClockAlignment::Round round;
    std::vector<CounterSample> samples;
  };

  bool start(Channel& channel);
  void read(Channel& channel);
  /// Ends the round that start() began: stops, reads, aligns, writes.
  void end_round(Channel& channel);
  void write_samples(Channel& channel);
  void lose(Channel& channel, trace::LossReason reason, const std::string& what);

  trace::SpoolWriter& spool_;
  Options options_;
  std::vector<Channel> channels_;
};

}  // namespace tferry::collector
