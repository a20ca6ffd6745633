#pragma once

#include <cstdint>

namespace tferry::trace {
class SessionWriter;
}

namespace tferry::cli {

/// Names each allocation after the innermost NVTX range that was open on its thread when it was made, into
/// table allocation_name. Ranges that were started on one thread and ended on another count for the one that
/// started them. A range
/// tferry:CATEGORY:PATH is of the start-up hook for PyTorch (collector/python). Returns how many have a name.
/// Memory: the ranges that are open at once.
std::int64_t name_allocations_by_nvtx(trace::SessionWriter& writer);

}  // namespace tferry::cli
