// libtferry_collector.so: the driver loads it inside cuInit because CUDA_INJECTION64_PATH names it, and calls
// InitializeInjection.
#include "collector/activity_session.hpp"
#include "collector/config.hpp"
#include "collector/cupti_library.hpp"
#include "collector/device_lookup.hpp"
#include "trace/spool_writer.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <unistd.h>

namespace tferry::collector {
namespace {

/// Lives as long as the process: CUPTI's own threads may call back until its very end.
struct Collector {
  CuptiLibrary cupti;
  DriverDeviceLookup devices;
  std::unique_ptr<trace::SpoolWriter> spool;
  std::unique_ptr<ActivitySession> session;
};

Collector* collector = nullptr;

void say(const std::string& text) {
  const std::string line = "tferry: " + text + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void end() { collector->session->finish(); }

void begin() {
  const Config config = Config::from_environment();
  if (config.run_directory.empty()) return;
  auto fresh = std::make_unique<Collector>();
  std::string error;
  fresh->spool = trace::SpoolWriter::open_in(config.run_directory,
                                             {.source = trace::SpoolSource::kCollector,
                                              .block_count = 64,
                                              .size_limit = config.spool_limit,
                                              .keep_last_ns = config.keep_last_ns},
                                             &error);
  if (!fresh->spool) return say(error + "; GPU activity of this process is not recorded");
  fresh->session = std::make_unique<ActivitySession>(fresh->cupti, *fresh->spool, fresh->devices, config);
  collector = fresh.release();
  collector->session->start();
  std::atexit(end);
}

}  // namespace
}  // namespace tferry::collector

/// Called once by the driver; never lets the job fail.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::atomic<bool> called = false;
  if (called.exchange(true)) return 1;
  try {
    tferry::collector::begin();
  } catch (const std::exception& error) {
    tferry::collector::say(std::string("recording could not begin: ") + error.what());
  }
  return 1;
}
