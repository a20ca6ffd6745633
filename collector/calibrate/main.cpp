// tferry-calibrate: measures this machine's links and writes the calibration as JSON to standard output.
#include "collector/calibrate/calibrator.hpp"
#include "collector/calibrate/driver_error.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace tferry::calibrate {
namespace {

constexpr int kUsage = 2, kNothingMeasured = 3;

/// The driver of the tests keeps a clock of its own; no other has this function.
std::function<std::int64_t()> clock_of_driver() {
  using Now = std::int64_t (*)();
  const char* path = std::getenv("TFERRY_DRIVER");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const auto now = library == nullptr ? nullptr : reinterpret_cast<Now>(dlsym(library, "swd_virtual_now_ns"));
  return now == nullptr ? std::function<std::int64_t()>(Settings::steady_now_ns)
                        : std::function<std::int64_t()>(now);
}

int measure(Settings settings) {
  const cuda::Driver* driver = cuda::driver();
  if (driver == nullptr) {
    std::fprintf(stderr, "there is no CUDA driver (libcuda.so.1)\n");
    return kNothingMeasured;
  }
  settings.now_ns = clock_of_driver();
  try {
    const trace::Calibration calibration = calibrate(*driver, settings, [](const std::string& what) {
      std::fprintf(stderr, "measuring %s\n", what.c_str());
    });
    std::fputs(to_json(calibration).c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : kNothingMeasured;
  } catch (const DriverCallError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kNothingMeasured;
  }
}

}  // namespace
}  // namespace tferry::calibrate

int main(int argc, char** argv) {
  using namespace tferry::calibrate;
  Settings settings;
  int time_limit_s = 300;
  CLI::App app("Measures this machine's links and writes the calibration as JSON to standard output.",
               "tferry-calibrate");
  app.add_option("--time-limit", time_limit_s, "seconds")->check(CLI::Range(1, 3600))->capture_default_str();
  app.add_option("--repeats", settings.repeats, "of each measurement")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--gpu", settings.gpus, "GPUs to measure, by PCI order (all)")->delimiter(',');
  app.add_option("--buffer-bytes", settings.buffer_bytes, "of each GPU's buffers")
      ->check(CLI::Range(1LL << 20, 1LL << 36));
  app.add_option("--run-bytes", settings.run_bytes, "that one repeat copies")
      ->check(CLI::Range(1LL << 20, 1LL << 40));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kUsage;
  }
  settings.time_limit = std::chrono::seconds(time_limit_s);
  // All GPUs, whatever a job would see, and nothing between us and the driver.
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_INJECTION64_PATH");
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  return measure(settings);
}
