#include "analyzer/placement/presence.hpp"

#include <algorithm>
#include <map>

namespace tferry::analyzer {
namespace {

/// The last `pieces` pieces are away after operation `after` and until operation `needed`, or for good.
struct Absence {
  std::uint32_t after = 0, needed = 0;
  std::uint32_t pieces = 0;
  bool returns = true;
};

/// By tensor, in the order of its life.
std::vector<std::vector<Absence>> absences(const PlanWorkload& workload, const Plan& plan) {
  const auto count = static_cast<std::uint32_t>(workload.workload.operations.size());
  struct Sum {
    std::int64_t bytes = 0;
    std::uint32_t length = 0;
    bool returns = true;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> gaps;
  for (const PlanAction& action : plan.actions) {
    const Tensor& tensor = workload.workload.tensors[action.tensor];
    const bool next = !tensor.persistent && action.leave_after < tensor.birth;
    Sum& sum = gaps[{action.tensor, action.leave_after + (next ? count : 0)}];
    sum.bytes += action.bytes;
    sum.length = action.needed_by - action.leave_after;
    sum.returns = action.returns;
  }
  std::vector<std::vector<Absence>> all(workload.workload.tensors.size());
  for (const auto& [start, gap] : gaps) {
    const auto pieces =
        static_cast<std::uint32_t>((gap.bytes + workload.chunk_bytes - 1) / workload.chunk_bytes);
    all[start.first].push_back({start.second, start.second + gap.length,
                                std::min(pieces, workload.pieces(start.first)), gap.returns});
  }
  return all;
}

class Splitter {
 public:
  Splitter(const PlanWorkload& workload, const ProgramTicks& ticks, std::int64_t largest)
      : workload_(workload),
        ticks_(ticks),
        largest_(static_cast<std::uint32_t>(std::max<std::int64_t>(1, largest / workload.chunk_bytes))) {}

  void split(std::uint32_t tensor, const std::vector<Absence>& away, std::vector<Part>& parts) const {
    const std::uint32_t pieces = workload_.pieces(tensor);
    std::vector<std::uint32_t> starts = {0};
    for (const Absence& absence : away) starts.push_back(pieces - absence.pieces);
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    starts.push_back(pieces);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      Part part{tensor, starts[i], starts[i + 1] - starts[i], {}};
      std::vector<Absence> mine;
      for (const Absence& absence : away) {
        if (starts[i] >= pieces - absence.pieces) mine.push_back(absence);
      }
      part.presences = workload_.workload.tensors[tensor].persistent ? around(mine) : life(tensor, mine);
      const std::uint32_t end = part.first + part.count;
      if (!mine.empty()) part.count = std::min(part.count, largest_);
      for (; part.first < end; part.first += part.count) {
        part.count = std::min(part.count, end - part.first);
        parts.push_back(part);
      }
    }
  }

 private:
  static void leave(Presence& presence, const Absence& absence, const ProgramTicks& ticks) {
    presence.end = ticks.after(absence.after);
    presence.leaves = true;
    presence.left_after = absence.after;
    presence.free_from = absence.after + 1;
  }

  Presence back(const Absence& absence) const {
    Presence presence;
    presence.begin = ticks_.before(absence.needed);
    presence.returns = true;
    presence.needed = absence.needed;
    return presence;
  }

  std::vector<Presence> life(std::uint32_t tensor, const std::vector<Absence>& away) const {
    std::vector<Presence> presences(1);
    presences.front().begin = ticks_.alloc(tensor);
    for (const Absence& absence : away) {
      leave(presences.back(), absence, ticks_);
      if (!absence.returns) return presences;
      presences.push_back(back(absence));
    }
    presences.back().end = ticks_.free(tensor);
    presences.back().free_from = ticks_.free_position(tensor);
    return presences;
  }

  /// Of a persistent tensor: from each return to the next leave.
  std::vector<Presence> around(const std::vector<Absence>& away) const {
    const auto count = static_cast<std::uint32_t>(workload_.workload.operations.size());
    std::vector<Presence> presences;
    if (away.empty()) {
      presences.emplace_back();
      presences.back().end = ticks_.total();
      return presences;
    }
    for (std::size_t i = 0; i < away.size(); ++i) {
      Absence next = away[(i + 1) % away.size()];
      if (i + 1 == away.size()) next.after += count;
      presences.push_back(back(away[i]));
      leave(presences.back(), next, ticks_);
    }
    return presences;
  }

  const PlanWorkload& workload_;
  const ProgramTicks& ticks_;
  std::uint32_t largest_;  ///< pieces
};

}  // namespace

std::vector<Part> split_into_parts(const PlanWorkload& workload, const ProgramTicks& ticks, const Plan& plan,
                                   std::int64_t largest) {
  std::vector<Part> parts;
  const std::vector<std::vector<Absence>> away = absences(workload, plan);
  const Splitter splitter(workload, ticks, largest);
  for (std::uint32_t t = 0; t < workload.workload.tensors.size(); ++t) splitter.split(t, away[t], parts);
  return parts;
}

}  // namespace tferry::analyzer
