#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// Writes a workload operation by operation, as a program would run. Tensors made by `fresh` live from the
/// first operation that touches them to the last one, or to where they are released. Not for use by several
/// threads.
class WorkloadBuilder {
 public:
  WorkloadBuilder(std::string name, std::string source);

  std::uint32_t persistent(std::string name, std::int64_t size);
  std::uint32_t fresh(std::string name, std::int64_t size);

  struct Touches {
    std::vector<std::uint32_t> reads;
    std::vector<std::uint32_t> overwrites;
    std::vector<std::uint32_t> updates;
  };
  /// Durations are rounded up to whole nanoseconds.
  void operation(std::string name, double duration_ns, const Touches& touches);
  /// Keeps the tensor alive up to the last operation so far, though nothing touches it any more.
  void release(std::uint32_t tensor);
  std::int64_t size(std::uint32_t tensor) const { return workload_.tensors[tensor].size; }

  /// Tensors that nothing touched are left out if fresh. Budget: the footprint.
  Workload build() const;

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  std::uint32_t add(std::string name, std::int64_t size, bool persistent);

  Workload workload_;
};

}  // namespace tferry::analyzer
