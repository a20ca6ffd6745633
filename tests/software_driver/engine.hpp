#pragma once

#include "tests/software_driver/completion.hpp"

#include <cstdint>
#include <mutex>

namespace tferry::software_driver {

/// A resource that one piece of work occupies at a time, such as the copy engine of one device and direction.
/// Its clock is what makes copies of several streams queue up in virtual time. The members are guarded by
/// `mutex`, which is held while the work runs.
struct Engine {
  std::mutex mutex;
  Nanoseconds free_at = 0;
  Nanoseconds busy = 0;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
};

}  // namespace tferry::software_driver
