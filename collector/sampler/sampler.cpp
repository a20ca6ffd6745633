#include "collector/sampler/sampler.hpp"

#include "collector/loss.hpp"

#include <algorithm>
#include <utility>

namespace tferry::collector {
namespace {

constexpr std::int64_t kRoundNs = 5'000'000;

std::int64_t now() { return trace::SpoolWriter::now_ns(); }

}  // namespace

Sampler::Sampler(trace::SpoolWriter& spool, std::vector<SampledGpu> gpus, Options options)
    : spool_(spool), options_(std::move(options)), gpus_(std::move(gpus)) {
  for (const SampledGpu& gpu : gpus_) {
    spool_.append(gpu.device);
    Channel& channel = channels_.emplace_back();
    channel.device = gpu.device;
    channel.ways = gpu.ways;
  }
}

void Sampler::lose(const Channel& channel, trace::LossReason reason, const std::string& what) {
  append_loss(spool_, trace::RecordKind::kCounter, reason, -1,
              "GPU " + std::to_string(channel.device.device) + ": " + what);
}

std::string Sampler::start(Channel& channel) {
  channel.round = {};
  channel.round.host_before_start_ns = now();
  std::string error = channel.source->start();
  channel.round.host_after_start_ns = now();
  return error;
}

void Sampler::refuse(Channel& channel, const std::string& what, trace::LossReason reason) {
  if (channel.why.empty()) channel.reason = reason;
  channel.why += (channel.why.empty() ? "" : "; ") + what;
}

bool Sampler::open_next_way(Channel& channel) {
  while (channel.next_way < channel.ways.size()) {
    const CounterWay& way = channel.ways[channel.next_way++];
    SourceRefusal refusal;
    channel.source = way.open(refusal);
    if (channel.source) return true;
    refuse(channel, "no " + way.name + ": " + refusal.text, refusal.reason);
  }
  return false;
}

void Sampler::begin(Channel& channel) {
  while (channel.source || open_next_way(channel)) {
    const std::string error = start(channel);
    const std::string& name = channel.ways[channel.next_way - 1].name;
    if (error.empty()) {
      channel.writer.emplace(spool_, channel.device.device, channel.source->counters());
      channel.clock = {};
      channel.aligned_ns = 0;
      channel.overflow_told = false;
      channel.samples.clear();
      if (!channel.why.empty()) channel.why += "; instead: " + name;
      break;
    }
    channel.source.reset();
    refuse(channel, "no " + name + ": " + error, trace::LossReason::kNotPermitted);
  }
  if (channel.why.empty()) return;
  lose(channel, channel.reason, channel.why);
  options_.say("GPU " + std::to_string(channel.device.device) + ": " + channel.why);
  channel.why.clear();
}

void Sampler::give_up(Channel& channel, trace::LossReason reason, const std::string& why) {
  write_samples(channel);
  close(channel);
  channel.source.reset();
  refuse(channel, channel.ways[channel.next_way - 1].name + " ended: " + why, reason);
  begin(channel);
}

void Sampler::open_beside() {
  const std::size_t count = channels_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const SampledGpu& gpu = gpus_[i];
    if (!gpu.beside) continue;
    const auto& source = channels_[i].source;
    const bool has = source != nullptr && std::find(source->counters().begin(), source->counters().end(),
                                                    gpu.counter) != source->counters().end();
    if (has) continue;
    Channel& channel = channels_.emplace_back();
    channel.device = gpu.device;
    channel.ways = {*gpu.beside};
    channel.beside = true;
    begin(channel);
  }
}

void Sampler::tell_shortfalls() {
  for (const Channel& channel : channels_) {
    if (!channel.source || channel.source->shortfall().empty()) continue;
    std::string what = "not sampled are " + channel.source->shortfall();
    for (const Channel& other : channels_) {
      if (other.beside && other.source && other.device.device == channel.device.device)
        what += "; beside it: " + other.ways.front().name;
    }
    lose(channel, trace::LossReason::kUnsupported, what);
  }
}

int Sampler::start(const Wait& wait) {
  // All are open before the first one samples: opening takes a while, in which nobody would read.
  for (Channel& channel : channels_) open_next_way(channel);
  for (Channel& channel : channels_) begin(channel);
  open_beside();
  tell_shortfalls();
  for (int round = 0; round < options_.first_rounds; ++round) {
    if (!wait(kRoundNs)) break;
    for (Channel& channel : channels_) {
      if (!channel.source || channel.source->on_host_clock()) continue;
      if (!end_round(channel)) continue;
      channel.samples.clear();  // before the first alignment is known as well as it can be
      restart(channel);
    }
  }
  return static_cast<int>(std::count_if(channels_.begin(), channels_.end(),
                                        [](const Channel& c) { return c.source && !c.beside; }));
}

void Sampler::read(Channel& channel) {
  bool overflow = false;
  const std::size_t before = channel.samples.size();
  const std::string error = channel.source->read(channel.samples, overflow);
  if (!error.empty()) return give_up(channel, trace::LossReason::kUnknown, error);
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

bool Sampler::end_round(Channel& channel) {
  channel.round.host_before_stop_ns = now();
  const std::string error = channel.source->stop();
  channel.round.host_after_stop_ns = now();
  const std::size_t way = channel.next_way;
  if (!error.empty()) {
    give_up(channel, trace::LossReason::kUnknown, error);
    return false;
  }
  read(channel);
  if (!channel.source || channel.next_way != way) return false;
  if (channel.round.gpu_first_ns == 0) return true;
  // The first sample of all is left out by the source, so the first one here begins one sample later.
  channel.round.gpu_first_ns -= channel.round.longest_sample_ns;
  if (!channel.clock.add(channel.round)) return true;
  channel.aligned_ns = now();
  trace::CounterRecord error_record;
  error_record.time_ns = error_record.end_ns = channel.aligned_ns;
  error_record.counter = spool_.intern("tferry.clock_error_ns");
  error_record.value = static_cast<double>(channel.clock.error_ns());
  error_record.device = channel.device.device;
  spool_.append(error_record);
  return true;
}

void Sampler::restart(Channel& channel) {
  const std::string error = start(channel);
  if (!error.empty()) give_up(channel, trace::LossReason::kNotPermitted, error);
}

void Sampler::write_samples(Channel& channel) {
  if (channel.source) {
    const bool ready = channel.source->on_host_clock() || channel.clock.known();
    const std::int64_t offset = channel.source->on_host_clock() ? 0 : channel.clock.offset_ns();
    if (ready) {
      for (const CounterSample& sample : channel.samples) channel.writer->write(sample, offset);
    }
  }
  channel.samples.clear();
}

void Sampler::close(Channel& channel) {
  if (!channel.writer) return;
  channel.writer->flush();
  if (channel.writer->bad_samples() > 0) {
    append_loss(spool_, trace::RecordKind::kCounter, trace::LossReason::kBadTime,
                channel.writer->bad_samples(), "samples that end before they start");
  }
  channel.writer.reset();
}

void Sampler::run(std::int64_t read_every_ns, const Wait& wait) {
  bool more = true;
  while (more) {
    more = wait(read_every_ns);
    for (Channel& channel : channels_) {
      if (!channel.source) continue;
      const bool align =
          !channel.source->on_host_clock() && (!more || now() - channel.aligned_ns > options_.align_every_ns);
      if (align) {
        channel.clock.forget();
        const bool ended = end_round(channel);
        write_samples(channel);
        if (ended && more) restart(channel);
      } else {
        read(channel);
        write_samples(channel);
      }
    }
  }
  for (Channel& channel : channels_) close(channel);
  spool_.flush();
}

}  // namespace tferry::collector
