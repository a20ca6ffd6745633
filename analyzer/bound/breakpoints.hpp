#pragma once

#include "analyzer/workload/uses.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// Bytes at the start of each operation that must exist somewhere, on the card or in host memory: contents
/// that will be read again, and what the operation itself touches. Dead contents are left out.
std::vector<std::int64_t> live_bytes(const Workload& workload, const Uses& uses);

/// At most `most` (at least 3) operations, ascending, at which to look closely: all of them if that many,
/// else the lowest and highest points of the live curve between points that lie evenly in time and in bytes.
std::vector<std::uint32_t> choose_breakpoints(const Workload& workload, const Uses& uses, std::size_t most);

}  // namespace tferry::analyzer
