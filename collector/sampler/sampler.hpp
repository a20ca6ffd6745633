#pragma once

#include "collector/sampler/clock_alignment.hpp"
#include "collector/sampler/counter_source.hpp"
#include "collector/sampler/counter_writer.hpp"
#include "trace/spool_writer.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tferry::collector {

/// Reads counters of all GPUs into one spool until told to stop. A source that does not open, does not start
/// (another tool has the counters: DCGM#56, #62) or fails later gives way to the next one of its GPU;
/// whatever goes wrong with one GPU is a loss record that says which source is used instead and why, and the
/// others go on. The error of the clock alignment is a counter of its own, tferry.clock_error_ns, one record
/// for each alignment. Threads: one.
class Sampler {
 public:
  struct Options {
    std::int64_t align_every_ns = 10'000'000'000;  ///< restarts sampling for it: a gap of a millisecond or so
    int first_rounds = 4;                          ///< alignment rounds before the first sample counts
    std::function<void(const std::string&)> say = [](const std::string&) {
    };  ///< for people, beside the spool
  };
  /// Waits for the next time to read; false: the end. The second argument is the time to wait in ns.
  using Wait = std::function<bool(std::int64_t)>;

  Sampler(trace::SpoolWriter& spool, std::vector<SampledGpu> gpus, Options options);

  /// Opens and starts the sources; the number of GPUs that are sampled.
  int start(const Wait& wait);
  /// Reads every `read_every_ns` until `wait` says that it is the end.
  void run(std::int64_t read_every_ns, const Wait& wait);

 private:
  /// One source at a time of one GPU.
  struct Channel {
    trace::DeviceRecord device;
    std::vector<CounterWay> ways;
    std::size_t next_way = 0;
    std::string why;  ///< ways before were refused, as told next
    trace::LossReason reason = trace::LossReason::kNotPermitted;
    bool beside = false;                    ///< another channel is the GPU's own
    std::unique_ptr<CounterSource> source;  ///< null: none any more
    std::optional<CounterWriter> writer;
    ClockAlignment clock;
    bool overflow_told = false;
    std::int64_t aligned_ns = 0;
    ClockAlignment::Round round;
    std::vector<CounterSample> samples;
  };

  /// Starts the source that it has; a sentence if that fails.
  std::string start(Channel& channel);
  /// Of the ways left the first one that opens; false: none does.
  bool open_next_way(Channel& channel);
  /// Starts what is open; where that fails, the first of the ways left that opens and starts. Tells what was
  /// refused before.
  void begin(Channel& channel);
  static void refuse(Channel& channel, const std::string& what, trace::LossReason reason);
  /// The source in use failed.
  void give_up(Channel& channel, trace::LossReason reason, const std::string& why);
  void open_beside();
  void tell_shortfalls();
  void read(Channel& channel);
  /// Ends the round that start() began: stops, reads, aligns. False if the source failed at it and was given
  /// up.
  bool end_round(Channel& channel);
  void restart(Channel& channel);
  void write_samples(Channel& channel);
  void close(Channel& channel);
  void lose(const Channel& channel, trace::LossReason reason, const std::string& what);

  trace::SpoolWriter& spool_;
  Options options_;
  std::vector<SampledGpu> gpus_;
  std::vector<Channel> channels_;
};

}  // namespace tferry::collector
