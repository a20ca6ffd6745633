#include "samples/layers/options.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace tferry::samples {

int parse_layers_options(int argc, char** argv, const std::string& description, LayersOptions& options) {
  CLI::App app(description);
  app.add_option("--buffers", options.buffers, "Large buffers alive at the peak")
      ->check(CLI::Range(4, 4096))
      ->capture_default_str();
  app.add_option("--mib", options.mib, "MiB of each")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--iterations", options.iterations)->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--streams", options.streams)->check(CLI::Range(1, 16))->capture_default_str();
  app.add_option("--work", options.work, "Multiplications an element in every combination")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--hidden", options.hidden, "Weights that kernels reach by a table in device memory only")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--device", options.device)->check(CLI::Range(0, 63))->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_flag("--stream-ordered", options.stream_ordered, "Allocate and free on a stream");
  app.add_flag("--plan-only", options.plan_only,
               "Print the footprint and what a recording has to hold, and stop; needs no GPU");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.hidden > options.layers()) options.hidden = options.layers();
  return -1;
}

}  // namespace tferry::samples
