#include "tests/replay/recorded_times.hpp"

#include "tests/replay/plain_spool.hpp"
#include "trace/spool_reader.hpp"

#include <algorithm>

namespace tferry::replay {

RecordedTimes::RecordedTimes(const std::string& spool) {
  if (spool.empty()) return;
  const PlainSpool plain(spool);
  trace::SpoolReader reader(plain.path());
  while (const auto record = reader.next()) {
    const auto ran = record->as<trace::KernelActivityRecord>();
    if (!ran || ran->end_ns < ran->time_ns) continue;
    times_[key(ran->name, ran->grid)].push_back(ran->end_ns - ran->time_ns);
  }
  for (auto& [kernel, times] : times_) std::sort(times.begin(), times.end());
}

std::uint64_t RecordedTimes::key(trace::StringId name, const trace::Dim3& grid) {
  std::uint64_t key = name;
  for (const std::uint32_t extent : {grid.x, grid.y, grid.z}) key = (key ^ extent) * 0x9E37'79B9'7F4A'7C15ULL;
  return key;
}

std::int64_t RecordedTimes::median_ns(trace::StringId name, const trace::Dim3& grid) const {
  const auto found = times_.find(key(name, grid));
  return found != times_.end() ? found->second[found->second.size() / 2] : 0;
}

}  // namespace tferry::replay
