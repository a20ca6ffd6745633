#include "tests/replay/last_iteration.hpp"

#include "analyzer/iterations/period.hpp"
#include "trace/flat_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>

namespace tferry::replay {
namespace {

std::array<std::uint32_t, 3> extent(const trace::Dim3& dim) { return {dim.x, dim.y, dim.z}; }

std::uint64_t signature_of(const RecordedJob& job, const RecordedJob::Call& call) {
  using trace::OperationSignature;
  if (const auto* launch = std::get_if<trace::KernelLaunchRecord>(&call)) {
    return OperationSignature::launch(job.strings.at(launch->name), extent(launch->grid),
                                      extent(launch->block));
  }
  if (const auto* copy = std::get_if<trace::MemcpyCallRecord>(&call))
    return OperationSignature::copy(copy->bytes);
  if (const auto* set = std::get_if<trace::MemsetCallRecord>(&call))
    return OperationSignature::memset(set->bytes);
  return 0;
}

}  // namespace

LastIteration last_iteration(const RecordedJob& job) {
  std::vector<std::uint32_t> signatures;
  std::vector<std::size_t> calls;
  for (std::size_t i = 0; i < job.calls.size(); ++i) {
    const std::uint64_t signature = signature_of(job, job.calls[i]);
    if (signature == 0) continue;
    signatures.push_back(static_cast<std::uint32_t>(signature ^ signature >> 32));
    calls.push_back(i);
  }
  const auto iterations = analyzer::find_iterations(signatures);
  if (!iterations) throw std::runtime_error("the job's operations show no iterations");
  const analyzer::IterationSpan span = iterations->spans.back();
  LastIteration last;
  last.begin = calls[span.begin];
  last.end = span.end < calls.size() ? calls[span.end] : job.calls.size();

  std::set<std::uint64_t> made;
  std::map<std::uint64_t, std::int64_t> bytes;
  std::map<std::int64_t, std::vector<std::uint64_t>> left, freed;  // by bytes
  for (std::size_t i = 0; i < last.end; ++i) {
    const bool within = i >= last.begin;
    if (const auto* allocation = std::get_if<trace::AllocationRecord>(&job.calls[i])) {
      bytes[allocation->allocation] = allocation->bytes;
      if (within) made.insert(allocation->allocation);
    } else if (const auto* free = std::get_if<trace::FreeRecord>(&job.calls[i]); free && within) {
      if (made.erase(free->allocation) == 0) freed[bytes[free->allocation]].push_back(free->allocation);
    }
  }
  for (const std::uint64_t allocation : made) left[bytes[allocation]].push_back(allocation);
  for (const auto& [size, older] : freed) {
    const auto& younger = left[size];
    for (std::size_t i = 0; i < std::min(older.size(), younger.size()); ++i)
      last.successors.emplace_back(older[i], younger[i]);
  }
  return last;
}

}  // namespace tferry::replay
