#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>

namespace tferry::cli {

/// tferry-sampler beside a job: samples the hardware counters of all GPUs into a spool of the run directory
/// from construction to stop(). It ends with this process, whatever happens to it. A sampler that cannot
/// start or sample costs the counters, never the job.
class SamplerProcess {
 public:
  struct Sampling {
    std::int64_t interval_us = 100;
    std::int64_t keep_last_ns = 0;  ///< only the last so long is kept, 0: everything
  };
  /// Starts `program` and waits until it samples or says that it cannot, at most `patience`. Its libcupti is
  /// looked for in `cupti_folder`, too, behind LD_LIBRARY_PATH; empty: nowhere else. Does not throw;
  /// problem() tells.
  SamplerProcess(const std::filesystem::path& program, const std::filesystem::path& run_directory,
                 const Sampling& sampling, const std::filesystem::path& cupti_folder,
                 std::chrono::milliseconds patience = std::chrono::seconds(15));
  ~SamplerProcess();
  SamplerProcess(const SamplerProcess&) = delete;
  SamplerProcess& operator=(const SamplerProcess&) = delete;

  /// Number of GPUs that are sampled; 0 where problem() says why.
  int gpus() const noexcept { return gpus_; }
  const std::string& problem() const noexcept { return problem_; }

  /// Ends it and waits until its spool is whole.
  void stop();

 private:
  void wait_until_ready(int output, std::chrono::milliseconds patience);

  pid_t pid_ = -1;
  int input_ = -1;
  int gpus_ = 0;
  std::string problem_;
};

}  // namespace tferry::cli
