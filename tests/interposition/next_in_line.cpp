// One of two libraries that define the same function, each calling the next one in the order of loading, as
// interposers do. Built twice, with another PROBE_VALUE.
#include <dlfcn.h>

extern "C" int tferry_probe() {
  using Probe = int (*)();
  const auto next = reinterpret_cast<Probe>(dlsym(RTLD_NEXT, "tferry_probe"));
  return PROBE_VALUE + (next != nullptr ? next() : 0);
}
