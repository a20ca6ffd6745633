#include "trace/record_window.hpp"

#include <algorithm>
#include <limits>

namespace tferry::trace {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

template <typename Record>
bool take(const SpoolRecordView& record, std::vector<Record>& into) {
  if (record.kind() != Record::kKind) return false;
  into.push_back(*record.as<Record>());
  return true;
}

/// Calls and activity records, and frees: what names an allocation comes before its free.
bool waits_for_its_moment(RecordKind kind) {
  switch (kind) {
    case RecordKind::kKernelLaunch:
    case RecordKind::kKernelActivity:
    case RecordKind::kMemcpyCall:
    case RecordKind::kMemcpyActivity:
    case RecordKind::kMemsetCall:
    case RecordKind::kMemsetActivity:
    case RecordKind::kGraphLaunch:
    case RecordKind::kTransfer:
    case RecordKind::kFree:
      return true;
    default:
      return false;
  }
}

/// Moves what lies before the moment; at the end of time everything does.
void move_before(std::int64_t before_ns, RecordWindow& from, RecordWindow& to) {
  const auto move = [before_ns](auto& source, auto& target) {
    const auto later = std::stable_partition(source.begin(), source.end(), [&](const auto& record) {
      return record.time_ns < before_ns || before_ns == kForever;
    });
    target.insert(target.end(), source.begin(), later);
    source.erase(source.begin(), later);
  };
  move(from.kernel_calls, to.kernel_calls);
  move(from.kernels, to.kernels);
  move(from.memcpy_calls, to.memcpy_calls);
  move(from.memcpys, to.memcpys);
  move(from.memset_calls, to.memset_calls);
  move(from.memsets, to.memsets);
  move(from.graph_launches, to.graph_launches);
  move(from.transfers, to.transfers);
  move(from.frees, to.frees);
}

}  // namespace

void RecordWindow::add(const SpoolRecordView& record) {
  if (record.kind() == RecordKind::kAccess) {
    accesses.push_back({record.as<AccessRecord>()->operation, record.accesses()});
    return;
  }
  take(record, kernel_calls) || take(record, kernels) || take(record, allocations) || take(record, frees) ||
      take(record, memcpy_calls) || take(record, memcpys) || take(record, memset_calls) ||
      take(record, memsets) || take(record, graph_launches) || take(record, transfers) ||
      take(record, syncs) || take(record, markers) || take(record, counters) || take(record, gates) ||
      take(record, um_events) || take(record, overheads) || take(record, api_calls) ||
      take(record, pool_operations);
}

WindowReader::WindowReader(const RecordedProcess& process, std::int64_t window_bytes)
    : window_bytes_(window_bytes) {
  for (const SpoolSummary& spool : process.spools) {
    try {
      files_.push_back(std::make_unique<SpoolReader>(spool.path));
    } catch (const SpoolError&) {
      continue;
    }
    plan_blocks(spool);
  }
  std::stable_sort(plan_.begin(), plan_.end(),
                   [](const Step& a, const Step& b) { return a.from_ns < b.from_ns; });
}

void WindowReader::plan_blocks(const SpoolSummary& spool) {
  const std::size_t first = plan_.size();
  std::int64_t known_ns = 0;
  for (const SpoolBlock& block : spool.blocks) {
    // A record without a time lies where its block was written.
    const std::int64_t from_ns = block.first_ns > 0 ? block.first_ns : known_ns;
    plan_.push_back({from_ns, files_.size() - 1, block});
    known_ns = std::max(known_ns, block.last_ns);
  }
  if (spool.header.source != SpoolSource::kRuntime) return;
  // The hooks' records build on those before them (an access on its allocation): their blocks keep their
  // order.
  std::int64_t earliest_ns = kForever;
  for (std::size_t i = plan_.size(); i-- > first;) {
    earliest_ns = std::min(earliest_ns, plan_[i].from_ns);
    plan_[i].from_ns = earliest_ns;
  }
}

bool WindowReader::next(RecordWindow& window) {
  if (done_) return false;
  const std::size_t begin = next_;
  for (std::int64_t bytes = 0; next_ < plan_.size() && bytes < window_bytes_; ++next_)
    bytes += plan_[next_].block.bytes;
  done_ = at_end();
  const std::int64_t before_ns = done_ ? kForever : plan_[next_].from_ns;
  move_before(before_ns, later_, window);
  for (std::size_t i = begin; i < next_; ++i) read_block(plan_[i], before_ns, window);
  return true;
}

void WindowReader::read_block(const Step& step, std::int64_t before_ns, RecordWindow& window) {
  SpoolReader& file = *files_[step.file];
  if (!file.open_block(step.block)) return;
  while (const auto record = file.next_in_block()) {
    const bool later =
        before_ns != kForever && record->time_ns() >= before_ns && waits_for_its_moment(record->kind());
    (later ? later_ : window).add(*record);
  }
}

}  // namespace tferry::trace
