// tferry-sampler: hardware counters of all GPUs into a spool, until its standard input ends.
#include "collector/loss.hpp"
#include "collector/sampler/gpu_list.hpp"
#include "collector/sampler/metric_choice.hpp"
#include "collector/sampler/nvml_library.hpp"
#include "collector/sampler/nvml_source.hpp"
#include "collector/sampler/pm_source.hpp"
#include "collector/sampler/sampler.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#include <utility>

namespace tferry::collector {
namespace {

constexpr int kNothingToSample = 3, kCannotWrite = 4, kUsage = 2;

struct Options {
  std::string directory;
  std::int64_t interval_us = 100;
  std::int64_t keep_last_ns = 0;
  std::vector<std::string> counters = usual_counters();
  std::vector<int> gpus;
};

void say(const std::string& text) { std::fprintf(stderr, "tferry: sampler: %s\n", text.c_str()); }

/// Waits, and looks at standard input meanwhile: its end is ours.
bool wait_for_end_of_input(std::int64_t wait_ns) {
  const std::int64_t due = trace::SpoolWriter::now_ns() + wait_ns;
  for (;;) {
    const std::int64_t left = due - trace::SpoolWriter::now_ns();
    if (left <= 0) return true;
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const timespec time{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    const int ready = ppoll(&input, 1, &time, nullptr);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    char byte;
    if (read(STDIN_FILENO, &byte, 1) <= 0) return false;
  }
}

/// NVML, opened when it is first asked for.
class LazyNvml {
 public:
  Nvml* get(SourceRefusal& refusal) {
    if (!nvml_ && error_.empty()) nvml_ = NvmlLibrary::open(error_);
    refusal = {error_, trace::LossReason::kUnsupported};
    return nvml_.get();
  }

 private:
  std::unique_ptr<NvmlLibrary> nvml_;
  std::string error_;
};

template <typename Source>
CounterWay nvml_way(LazyNvml& nvml, const trace::DeviceRecord& device, std::string name) {
  return {std::move(name), [&nvml, device](SourceRefusal& refusal) -> std::unique_ptr<CounterSource> {
            Nvml* opened = nvml.get(refusal);
            if (opened == nullptr) return nullptr;
            const auto found = find_device(*opened, device);
            if (found) return std::make_unique<Source>(*opened, *found, device);
            refusal.text = "NVML does not know this GPU";
            return nullptr;
          }};
}

CounterWay pm_way(const Options& options, const trace::DeviceRecord& device) {
  return {"counters by CUPTI's PM sampling",
          [&options, device](SourceRefusal& refusal) -> std::unique_ptr<CounterSource> {
            try {
              return std::make_unique<PmSource>(device, options.interval_us * 1000, options.counters);
            } catch (const PmError& failure) {
              refusal = {failure.what(), explain(failure.result()).reason};
              return nullptr;
            }
          }};
}

int sample(const Options& options) {
  GpuList gpus = GpuList::from_driver();
  if (gpus.devices.empty()) {
    say("nothing to sample: " + gpus.error + ". Install the NVIDIA driver, or profile without counters");
    return kNothingToSample;
  }
  std::string error;
  const auto spool = trace::SpoolWriter::open_in(
      options.directory,
      {.source = trace::SpoolSource::kSampler, .block_count = 64, .keep_last_ns = options.keep_last_ns},
      &error);
  if (!spool) {
    say(error);
    return kCannotWrite;
  }
  LazyNvml nvml;
  std::vector<SampledGpu> sampled;
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    trace::DeviceRecord& device = gpus.devices[i];
    const bool wanted = options.gpus.empty() || std::find(options.gpus.begin(), options.gpus.end(),
                                                          device.device) != options.gpus.end();
    if (!wanted) continue;
    device.name = spool->intern(gpus.names[i]);
    SampledGpu& gpu = sampled.emplace_back();
    gpu.device = device;
    gpu.ways = {pm_way(options, device),
                nvml_way<NvmlSource>(nvml, device, "PCIe rates by NVML, every 100 ms")};
    gpu.counter = "nvlrx__bytes.sum";
    if (std::find(options.counters.begin(), options.counters.end(), gpu.counter) != options.counters.end())
      gpu.beside = nvml_way<NvlinkSource>(nvml, device, "NVLink bytes by NVML, every 50 ms");
  }
  Sampler sampler(*spool, std::move(sampled), {.say = say});
  const int sampling = sampler.start(wait_for_end_of_input);
  if (sampling == 0) {
    spool->close();
    say("no GPU can be sampled; the reasons are in " + spool->path());
    return kNothingToSample;
  }
  std::printf("ready %d %s\n", sampling, spool->path().c_str());
  std::fflush(stdout);
  sampler.run(50'000'000, wait_for_end_of_input);
  spool->close();
  return 0;
}

}  // namespace
}  // namespace tferry::collector

int main(int argc, char** argv) {
  using namespace tferry::collector;
  Options options;
  CLI::App app("Samples hardware counters of all GPUs into a spool, until standard input ends.",
               "tferry-sampler");
  app.add_option("--run-dir", options.directory, "where the spool goes")
      ->envname("TFERRY_RUN_DIR")
      ->required();
  app.add_option("--interval-us", options.interval_us, "microseconds between samples")
      ->check(CLI::Range(20, 10'000))
      ->capture_default_str();
  app.add_option("--keep-last-ns", options.keep_last_ns,
                 "keep the last so many nanoseconds only (0: everything)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--counters", options.counters, "counters to sample, the most important first")
      ->delimiter(',');
  app.add_option("--gpu", options.gpus, "GPUs to sample, by PCI order (all)")->delimiter(',');
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kUsage;
  }
  // All GPUs, whatever the job sees, and none of what is meant for the job.
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_INJECTION64_PATH");
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  // Ctrl-C is the job's: the sampler ends after it, when the launcher closes its input.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  return sample(options);
}
