#include "samples/layers/main.hpp"

#include "samples/layers/comparison.hpp"
#include "samples/layers/schedule.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace tferry::samples {
namespace {

unsigned long long wide(std::uint64_t value) { return value; }

void print_iteration(int iteration, const Sums& gradient, std::int64_t nanoseconds) {
  std::printf("iteration %d sum 0x%016llx time_ms %.3f\n", iteration, wide(gradient.plain),
              static_cast<double>(nanoseconds) / 1e6);
  std::fflush(stdout);
}

}  // namespace

int run_and_compare(const LayersOptions& options, Machine& device) {
  Comparison comparison(device);
  std::vector<std::int64_t> times;
  try {
    const Sums answer =
        run_layers(options, comparison, [&](int iteration, const Sums& sums, std::int64_t time) {
          times.push_back(time);
          print_iteration(iteration, sums, time);
        });
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    std::printf("answer ok %016llx%016llx, %d iterations, median %.3f ms, footprint %llu bytes\n",
                wide(answer.plain), wide(answer.weighted), options.iterations,
                static_cast<double>(times[times.size() / 2]) / 1e6, wide(comparison.model().peak_bytes()));
    return 0;
  } catch (const AnswerDiffers& difference) {
    std::printf("answer differs: %s\n", difference.what());
    std::fflush(stdout);
    std::fprintf(stderr, "layers: wrong answer: %s\n", difference.what());
    return 1;
  }
}

void print_plan(const LayersOptions& options, OwnWork own) {
  const std::uint64_t bytes = peak_bytes(options);
  std::printf("footprint %llu bytes (%.2f GiB): %d layers, %d large buffers of %d MiB at the peak\n",
              wide(bytes), static_cast<double>(bytes) / (1 << 30), options.layers(), 2 * options.layers() + 2,
              options.mib);
  std::fputs(to_text(count_work(options, own)).c_str(), stdout);
}

}  // namespace tferry::samples
