#include "tests/software_driver/violation.hpp"

#include "tests/software_driver/driver.hpp"

#include <atomic>
#include <cstdio>

namespace tferry::software_driver {
namespace {

std::atomic<std::int64_t> count{0};
std::atomic<std::uintptr_t> last{0};

}  // namespace

void report_illegal_access(std::uintptr_t address, CUgraphNodeType kind) {
  count.fetch_add(1, std::memory_order_relaxed);
  last.store(address, std::memory_order_relaxed);
  const char* what = kind == CU_GRAPH_NODE_TYPE_KERNEL   ? "kernel"
                     : kind == CU_GRAPH_NODE_TYPE_MEMCPY ? "copy"
                     : kind == CU_GRAPH_NODE_TYPE_MEMSET ? "memset"
                                                         : "memory operation";
  const char* where = "outside of all reservations";
  if (driver().addresses.mapping_at(address)) {
    where = "mapped, but without that access";
  } else if (driver().addresses.reservation_at(address)) {
    where = "reserved, but not mapped";
  }
  std::fprintf(stderr, "software driver: illegal address 0x%zx in a %s: %s\n", address, what, where);
}

std::int64_t illegal_access_count() noexcept { return count.load(std::memory_order_relaxed); }
std::uintptr_t last_illegal_address() noexcept { return last.load(std::memory_order_relaxed); }

}  // namespace tferry::software_driver
