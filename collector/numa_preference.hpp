#pragma once

namespace tferry::collector {

/// While it lives, memory that this thread touches first comes from one NUMA node where it has some
/// (set_mempolicy, MPOL_PREFERRED). Node -1, and systems that refuse, change nothing.
class NumaPreference {
 public:
  explicit NumaPreference(int node) noexcept;
  ~NumaPreference();
  NumaPreference(const NumaPreference&) = delete;
  NumaPreference& operator=(const NumaPreference&) = delete;

 private:
  bool set_ = false;
};

}  // namespace tferry::collector
