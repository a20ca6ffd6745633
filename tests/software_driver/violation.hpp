#pragma once

#include <cuda.h>

#include <cstdint>

namespace tferry::software_driver {

/// Counts an illegal access and prints one line with the address and what lies there.
void report_illegal_access(std::uintptr_t address, CUgraphNodeType kind);

std::int64_t illegal_access_count() noexcept;
std::uintptr_t last_illegal_address() noexcept;

}  // namespace tferry::software_driver
