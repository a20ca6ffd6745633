#include "analyzer/workload/workload.hpp"

#include <algorithm>

namespace tferry::analyzer {

double LinkRates::time_for(double bytes_in, double bytes_out) const {
  return std::max({bytes_in / in, bytes_out / out, (bytes_out + alpha() * bytes_in) / out,
                   (bytes_in + beta() * bytes_out) / in});
}

std::int64_t compute_time(const Workload& workload) {
  std::int64_t sum = 0;
  for (const Operation& operation : workload.operations) sum += operation.duration_ns;
  return sum;
}

std::vector<std::int64_t> allocated_bytes(const Workload& workload) {
  const std::size_t count = workload.operations.size();
  std::vector<std::int64_t> change(count + 1);
  for (const Tensor& tensor : workload.tensors) {
    const bool wraps = tensor.death < tensor.birth;
    if (tensor.persistent || wraps) change[0] += tensor.size;
    if (tensor.persistent) continue;
    if (tensor.birth != 0 || !wraps) change[tensor.birth] += tensor.size;
    change[tensor.death + 1] -= tensor.size;
  }
  std::vector<std::int64_t> bytes(count);
  std::int64_t now = 0;
  for (std::size_t i = 0; i < count; ++i) bytes[i] = now += change[i];
  return bytes;
}

std::int64_t footprint(const Workload& workload) {
  std::int64_t most = 0;
  for (const std::int64_t bytes : allocated_bytes(workload)) most = std::max(most, bytes);
  return most;
}

std::vector<std::int64_t> working_sets(const Workload& workload) {
  std::vector<std::int64_t> sets;
  std::vector<std::size_t> seen(workload.tensors.size());
  for (std::size_t i = 0; i < workload.operations.size(); ++i) {
    std::int64_t sum = 0;
    for (const Access& access : workload.operations[i].accesses) {
      if (seen[access.tensor] == i + 1) continue;
      seen[access.tensor] = i + 1;
      sum += workload.tensors[access.tensor].size;
    }
    sets.push_back(sum);
  }
  return sets;
}

}  // namespace tferry::analyzer
