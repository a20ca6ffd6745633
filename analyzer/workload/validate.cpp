#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tferry::analyzer {
namespace {

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw WorkloadError(place, what);
}

void check_rate(const char* place, double rate) {
  if (!std::isfinite(rate) || rate <= 0 || rate > 1e6) {
    fail(place, fmt::format("{} GB/s is not a rate between 0 and 1,000,000", rate));
  }
}

void check_link(const LinkRates& link) {
  check_rate("link.in_gbps", link.in);
  check_rate("link.out_gbps", link.out);
  check_rate("link.duplex_in_gbps", link.duplex_in);
  check_rate("link.duplex_out_gbps", link.duplex_out);
  if (!(link.reached > 0 && link.reached <= 1))
    fail("link.reached", fmt::format("{} is not a share above 0, up to 1", link.reached));
  if (!(link.copy_ns >= 0 && link.copy_ns <= 1e9))
    fail("link.copy_ns", fmt::format("{} ns is not a time from 0 to a second", link.copy_ns));
  if (link.duplex_in > link.in || link.duplex_out > link.out) {
    fail("link", "a direction is faster while both are busy than alone");
  }
  if (link.duplex_in / link.in + link.duplex_out / link.out < 1) {
    fail("link",
         "both directions at once are slower than taking turns; give the rates of taking turns instead");
  }
}

void check_tensors(const Workload& workload) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < workload.tensors.size(); ++i) {
    const Tensor& tensor = workload.tensors[i];
    if (tensor.size <= 0 || tensor.size > kMaxBytes) {
      fail(fmt::format("tensors[{}].size", i),
           fmt::format("{} bytes is not a size of a tensor", tensor.size));
    }
    if ((sum += tensor.size) > kMaxBytes) {
      fail(fmt::format("tensors[{}].size", i),
           fmt::format("all tensors together exceed {} bytes", kMaxBytes));
    }
    if (tensor.persistent) continue;
    const std::size_t last = workload.operations.size();
    if (tensor.birth >= last) {
      fail(fmt::format("tensors[{}].birth", i), fmt::format("there are only {} operations", last));
    }
    if (tensor.death >= last) {
      fail(fmt::format("tensors[{}].death", i), fmt::format("there are only {} operations", last));
    }
  }
}

void check_operations(const Workload& workload) {
  if (workload.operations.empty()) fail("operations", "there are none");
  if (workload.operations.size() > kMaxOperations) {
    fail("operations", fmt::format("{} are more than {}", workload.operations.size(), kMaxOperations));
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < workload.operations.size(); ++i) {
    const Operation& operation = workload.operations[i];
    const auto time = [&](const char* name, std::int64_t value) {
      if (value < 0 || value > kMaxNanoseconds || (sum += value) > kMaxNanoseconds) {
        fail(fmt::format("operations[{}].{}", i, name),
             fmt::format("{} ns is not a time between 0 and {} ns in sum", value, kMaxNanoseconds));
      }
    };
    time("duration_ns", operation.duration_ns);
    time("gap_ns", operation.gap_ns);
    for (std::size_t k = 0; k < operation.accesses.size(); ++k) {
      const std::uint32_t index = operation.accesses[k].tensor;
      const std::string place = fmt::format("operations[{}].accesses[{}].tensor", i, k);
      if (index >= workload.tensors.size()) {
        fail(place, fmt::format("there are only {} tensors", workload.tensors.size()));
      }
      const Tensor& tensor = workload.tensors[index];
      const bool alive =
          tensor.persistent || (tensor.birth <= tensor.death ? tensor.birth <= i && i <= tensor.death
                                                             : tensor.birth <= i || i <= tensor.death);
      if (!alive) {
        fail(place, fmt::format("'{}' is allocated only from operation {} to operation {}", tensor.name,
                                tensor.birth, tensor.death));
      }
    }
  }
}

}  // namespace

void validate(const Workload& workload) {
  check_link(workload.link);
  check_tensors(workload);
  check_operations(workload);
  if (workload.budget <= 0 || workload.budget > kMaxBytes) {
    fail("budget", fmt::format("{} bytes is not a budget", workload.budget));
  }
  const std::vector<std::int64_t> sets = working_sets(workload);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i] <= workload.budget) continue;
    fail("budget", fmt::format("operation {} ('{}') alone touches {} bytes, the budget is {}", i,
                               workload.operations[i].name, sets[i], workload.budget));
  }
}

}  // namespace tferry::analyzer
