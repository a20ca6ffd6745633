#include "tests/replay/options.hpp"

#include <stdexcept>

namespace tferry::replay {

Options parse_options(int argc, char** argv) {
  const std::runtime_error usage("usage: tferry-replay SPOOL [--times SPOOL] [--steps N] [--repeat N]");
  if (argc < 2 || argc % 2 != 0) throw usage;
  Options options;
  options.spool = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--times") {
      options.times = argv[i + 1];
      continue;
    }
    const int count = std::stoi(argv[i + 1]);
    if (count < 1) throw usage;
    if (option == "--steps") {
      options.steps = count;
    } else if (option == "--repeat") {
      options.repeat = count;
    } else {
      throw usage;
    }
  }
  return options;
}

}  // namespace tferry::replay
