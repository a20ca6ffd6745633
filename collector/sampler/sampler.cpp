#include "collector/sampler/sampler.hpp"

#include "collector/loss.hpp"

#include <algorithm>

namespace tferry::collector {
namespace {

constexpr std::int64_t kRoundNs = 5'000'000;

std::int64_t now() { return trace::SpoolWriter::now_ns(); }

}  // namespace

Sampler::Sampler(trace::SpoolWriter& spool, std::vector<std::unique_ptr<CounterSource>> sources,
                 Options options)
    : spool_(spool), options_(options) {
  for (std::unique_ptr<CounterSource>& source : sources) {
    const trace::DeviceRecord device = source->device();
    spool_.append(device);
    CounterWriter writer(spool_, device.device, source->counters());
    channels_.emplace_back(std::move(source), std::move(writer));
    const std::string shortfall = channels_.back().source->shortfall();
    if (!shortfall.empty()) {
      append_loss(
          spool_, trace::RecordKind::kCounter, trace::LossReason::kUnsupported, -1,
          "Counters of GPU " + std::to_string(device.device) + " that fit no common pass: " + shortfall);
    }
  }
}

void Sampler::lose(Channel& channel, trace::LossReason reason, const std::string& what) {
  append_loss(spool_, trace::RecordKind::kCounter, reason, -1,
              "GPU " + std::to_string(channel.source->device().device) + ": " + what);
}

bool Sampler::start(Channel& channel) {
  channel.round = {};
  channel.round.host_before_start_ns = now();
  const std::string error = channel.source->start();
  channel.round.host_after_start_ns = now();
  channel.sampling = error.empty();
  if (!channel.sampling) lose(channel, trace::LossReason::kNotPermitted, error);
  return channel.sampling;
}

int Sampler::start(const Wait& wait) {
  for (Channel& channel : channels_) start(channel);
  for (int round = 0; round < options_.first_rounds; ++round) {
    if (!wait(kRoundNs)) break;
    for (Channel& channel : channels_) {
      if (!channel.sampling || channel.source->on_host_clock()) continue;
      end_round(channel);
      channel.samples.clear();  // before the first alignment is known as well as it can be
      if (channel.sampling) start(channel);
    }
  }
  return static_cast<int>(
      std::count_if(channels_.begin(), channels_.end(), [](const Channel& c) { return c.sampling; }));
}

void Sampler::read(Channel& channel) {
  bool overflow = false;
  const std::size_t before = channel.samples.size();
  const std::string error = channel.source->read(channel.samples, overflow);
  if (!error.empty()) {
    lose(channel, trace::LossReason::kUnknown, error);
    channel.sampling = false;
  }
  if (overflow) channel.aligned_ns = 0;  // a restart empties the hardware's buffer
  if (overflow && !channel.overflow_told) {
    channel.overflow_told = true;
    lose(channel, trace::LossReason::kNoBuffer,
         "the hardware's sample buffer overflowed; a longer --interval avoids it");
  }
  for (std::size_t i = before; i < channel.samples.size(); ++i) {
    const CounterSample& sample = channel.samples[i];
    ClockAlignment::Round& round = channel.round;
    if (round.gpu_first_ns == 0) round.gpu_first_ns = sample.start_ns;
    round.gpu_last_ns = sample.end_ns;
    round.longest_sample_ns = std::max(round.longest_sample_ns, sample.end_ns - sample.start_ns);
  }
}

void Sampler::end_round(Channel& channel) {
  channel.round.host_before_stop_ns = now();
  const std::string error = channel.source->stop();
  channel.round.host_after_stop_ns = now();
  if (!error.empty()) {
    lose(channel, trace::LossReason::kUnknown, error);
    channel.sampling = false;
    return;
  }
  read(channel);
  if (channel.round.gpu_first_ns == 0) return;
  // The first sample of all is left out by the source, so the first one here begins one sample later.
  channel.round.gpu_first_ns -= channel.round.longest_sample_ns;
  if (!channel.clock.add(channel.round)) return;
  channel.aligned_ns = now();
  trace::CounterRecord error_record;
  error_record.time_ns = error_record.end_ns = channel.aligned_ns;
  error_record.counter = spool_.intern("tferry.clock_error_ns");
  error_record.value = static_cast<double>(channel.clock.error_ns());
  error_record.device = channel.source->device().device;
  spool_.append(error_record);
}

void Sampler::write_samples(Channel& channel) {
  const bool ready = channel.source->on_host_clock() || channel.clock.known();
  const std::int64_t offset = channel.source->on_host_clock() ? 0 : channel.clock.offset_ns();
  if (ready) {
    for (const CounterSample& sample : channel.samples) channel.writer.write(sample, offset);
  }
  channel.samples.clear();
}

void Sampler::run(std::int64_t read_every_ns, const Wait& wait) {
  bool more = true;
  while (more) {
    more = wait(read_every_ns);
    for (Channel& channel : channels_) {
      if (!channel.sampling) continue;
      const bool align =
          !channel.source->on_host_clock() && (!more || now() - channel.aligned_ns > options_.align_every_ns);
      if (align) {
        channel.clock.forget();
        end_round(channel);
        write_samples(channel);
        if (more && channel.sampling) start(channel);
      } else {
        read(channel);
        write_samples(channel);
      }
    }
  }
  for (Channel& channel : channels_) {
    channel.writer.flush();
    if (channel.writer.bad_samples() > 0) {
      append_loss(spool_, trace::RecordKind::kCounter, trace::LossReason::kBadTime,
                  channel.writer.bad_samples(), "samples that end before they start");
    }
  }
  spool_.flush();
}

}  // namespace tferry::collector
