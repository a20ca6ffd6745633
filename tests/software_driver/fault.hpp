#pragma once

#include "tests/software_driver/entry.hpp"

#include <cstdint>
#include <string>

namespace tferry::software_driver {

/// Counts one call, and throws the error of a fault that is due. Thread-safe.
void count_call(EntryPoint entry);
std::int64_t call_count(EntryPoint entry) noexcept;
void clear_call_counts() noexcept;

/// The nth call from now on (1 is the next) fails, and with `onwards` all after it.
void add_fault(EntryPoint entry, std::int64_t nth, CUresult error, bool onwards);
void clear_faults() noexcept;

/// Adds the faults of a list such as "cuMemCreate:3:2,cuMemMap:5+:999". Gives a sentence about the first item
/// that cannot be understood, having added those before it; empty when all is well.
std::string add_faults(const std::string& list);

}  // namespace tferry::software_driver
