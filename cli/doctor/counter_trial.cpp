#include "cli/doctor/counter_trial.hpp"

#include "cli/failure.hpp"
#include "cli/job/recording_setup.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/job/sampler_process.hpp"
#include "cli/session/build_session.hpp"
#include "trace/recording.hpp"

#include <dlfcn.h>
#include <stdexcept>

namespace tferry::cli {
namespace {

constexpr std::int64_t kIntervalUs = 1000;

std::vector<std::string> losses_in(const std::filesystem::path& folder) {
  std::vector<std::string> texts;
  const trace::Recording recording = trace::Recording::read(find_spools(folder));
  for (const trace::RecordedProcess& process : recording.processes) {
    for (const trace::LossRecord& loss : process.losses) {
      const auto text = recording.strings.find(loss.detail);
      if (loss.what == trace::RecordKind::kCounter && text != recording.strings.end())
        texts.push_back(text->second);
    }
  }
  return texts;
}

}  // namespace

CounterTrial try_counters(const Installation& installation, const Environment& environment) {
  CounterTrial trial;
  const auto program = installation.executable("tferry-sampler");
  trial.here = program.has_value();
  if (!program) return trial;
  try {
    const RunDirectory directory(RunDirectory::usual_places());
    const auto cupti = find_cupti(environment, *program);
    SamplerProcess sampler(*program, directory.path(), {.interval_us = kIntervalUs},
                           cupti ? cupti->parent_path() : std::filesystem::path());
    trial.gpus = sampler.gpus();
    trial.problem = sampler.problem();
    sampler.stop();
    trial.losses = losses_in(directory.path());
  } catch (const Failure& failure) {
    trial.problem = failure.what();
  }
  return trial;
}

ProbeAnswer probe_cupti(const std::filesystem::path& library) {
  return run_probe(
      [&library]() -> std::string {
        using GetVersion = int (*)(unsigned*);
        void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) throw std::runtime_error("it cannot be loaded");
        const auto get_version = reinterpret_cast<GetVersion>(::dlsym(handle, "cuptiGetVersion"));
        unsigned version = 0;
        if (get_version == nullptr || get_version(&version) != 0)
          throw std::runtime_error("it tells no version");
        return "version " + std::to_string(version);
      },
      std::chrono::seconds(10));
}

}  // namespace tferry::cli
