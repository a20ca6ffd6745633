#include "tests/software_driver/graph.hpp"

#include "tests/software_driver/driver.hpp"

namespace tferry::software_driver {

GraphMemory::~GraphMemory() {
  for (const Address base : bases) driver().allocations.remove(base);
}

Work replayed(const Work& recorded) {
  Work work = recorded;
  work.after.clear();
  work.done = std::make_shared<Completion>();
  return work;
}

}  // namespace tferry::software_driver
