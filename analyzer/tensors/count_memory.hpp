#pragma once

#include "analyzer/tensors/recording.hpp"
#include "trace/chunk_size.hpp"

#include <cstdint>

namespace tferry::analyzer {

/// Counts a recording's allocations as a run under these rules does, whatever the recording's own were: small
/// ones as they are, others in whole chunks; movable is what is large enough and has no reason to stay.
void count_memory(Recording& recording, const trace::MemoryRules& rules);

/// An upper estimate of the device memory that the runtime's blocks of small allocations take, in bytes: each
/// size's most allocations alive together over the whole recording, since that memory is never given back,
/// and an eighth more for the rounding to classes.
std::int64_t small_memory(const Recording& recording, const trace::MemoryRules& rules);

}  // namespace tferry::analyzer
