#include "collector/numa_preference.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tferry::collector {
namespace {

constexpr int kMaxNodes = 1024;
constexpr int kBits = 8 * sizeof(unsigned long);

}  // namespace

NumaPreference::NumaPreference(int node) noexcept {
  if (node < 0 || node >= kMaxNodes) return;
  unsigned long nodes[kMaxNodes / kBits] = {};
  nodes[node / kBits] |= 1UL << (node % kBits);
  set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, kMaxNodes) == 0;
}

NumaPreference::~NumaPreference() {
  if (set_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

}  // namespace tferry::collector
