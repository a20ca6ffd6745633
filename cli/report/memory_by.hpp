#pragma once

#include "cli/report/memory_profile.hpp"
#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tferry::cli {

/// What is known of an allocation besides its size; empty: unknown.
struct AllocationFacts {
  std::string name, category;  ///< that the program gave it (table allocation_name)
  std::string tensor;          ///< its tensor's name, by the analysis
  std::string life;            ///< persistent, iteration
};

/// By allocation. PyTorch's names go before NVTX's.
std::map<std::int64_t, AllocationFacts> allocation_facts(const Scope& scope);

/// By what memory can be summed.
const std::vector<std::string>& memory_groups();  // category, module, name

/// What is alive at the profile's moment, summed by these groups, largest first. Memory without a name counts
/// as unknown, never as nothing. Sums are as asked for; what sizes were rounded up by, and what no allocation
/// fills of the 2 MiB pages of the driver, stand behind them.
Table memory_by_table(const Scope& scope, const MemoryProfile& profile,
                      const std::map<std::int64_t, AllocationFacts>& facts,
                      const std::vector<std::string>& groups);

/// The same of each process and GPU (`tferry report memory --by`), at the peak or that long after the
/// session's start: "peak", "1.5s". Throws Failure for a time that is none.
std::vector<Table> report_memory_by(const Scope& scope, const std::vector<std::string>& groups,
                                    const std::string& at = "peak");

}  // namespace tferry::cli
