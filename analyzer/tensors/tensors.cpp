#include "analyzer/tensors/tensors.hpp"

#include "analyzer/tensors/memory_events.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace tferry::analyzer {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::uint32_t index(std::size_t i) { return static_cast<std::uint32_t>(i); }

/// The use that demands more of the two: contents are kept, and brought in, if either wants it.
AccessKind stricter(AccessKind a, AccessKind b) { return a == b ? a : AccessKind::kUpdate; }

class Reader {
 public:
  Reader(const Recording& recording, const Iterations& iterations)
      : recording_(recording), spans_(iterations.spans) {
    choose_regular();
  }

  RecordedIteration read() {
    result_.workload.source = "recorded";
    read_times();
    match_allocations();
    read_lives();
    read_accesses();
    name_tensors();
    fill_workload();
    read_names();
    result_.events = memory_events(recording_, spans_, result_);
    return std::move(result_);
  }

 private:
  std::size_t length() const { return spans_[result_.regular.front()].size(); }

  void choose_regular() {
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> by_sequence;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      std::vector<std::uint32_t> sequence;
      for (std::size_t at = spans_[i].begin; at < spans_[i].end; ++at) {
        sequence.push_back(recording_.operations[at].signature);
      }
      by_sequence[std::move(sequence)].push_back(index(i));
    }
    for (auto& [sequence, members] : by_sequence) {
      if (members.size() > result_.regular.size()) result_.regular = members;
    }
  }

  /// Durations without overlap and idle times of one iteration, in positions.
  void read_times() {
    std::vector<std::int64_t> durations(length(), std::numeric_limits<std::int64_t>::max());
    std::vector<std::int64_t> idle = durations;
    for (const std::uint32_t i : result_.regular) {
      std::optional<std::int64_t> busy_until;
      if (spans_[i].begin > 0) busy_until = recording_.operations[spans_[i].begin - 1].end_ns;
      for (std::size_t k = 0; k < length(); ++k) {
        const RecordedOperation& operation = recording_.operations[spans_[i].begin + k];
        if (!operation.start_ns || !operation.end_ns || *operation.end_ns < *operation.start_ns) continue;
        const std::int64_t from =
            busy_until ? std::max(*operation.start_ns, *busy_until) : *operation.start_ns;
        durations[k] = std::min(durations[k], std::max<std::int64_t>(0, *operation.end_ns - from));
        if (!operation.gated) idle[k] = std::min(idle[k], busy_until ? from - *busy_until : 0);
        busy_until = busy_until ? std::max(*busy_until, *operation.end_ns) : *operation.end_ns;
      }
    }
    for (std::size_t k = 0; k < length(); ++k) {
      const RecordedOperation& model = recording_.operations[spans_[result_.regular.front()].begin + k];
      const bool known = idle[k] != std::numeric_limits<std::int64_t>::max();
      Operation operation{recording_.names[model.name], durations[k], known ? idle[k] : 0, {}};
      if (durations[k] == std::numeric_limits<std::int64_t>::max()) {
        operation.duration_ns = operation.gap_ns = 0;
        ++result_.untimed_operations;
      }
      result_.workload.operations.push_back(std::move(operation));
    }
    std::vector<double> times;
    for (const std::uint32_t i : result_.regular) {
      if (spans_[i].end >= recording_.operations.size()) continue;
      const auto& first = recording_.operations[spans_[i].begin].start_ns;
      const auto& next = recording_.operations[spans_[i].end].start_ns;
      if (first && next && *next > *first) times.push_back(static_cast<double>(*next - *first));
    }
    std::sort(times.begin(), times.end());
    if (!times.empty()) result_.iteration_ns = times[times.size() / 2];
  }

  /// Index of the first operation called at or after a time.
  std::size_t operation_at(std::int64_t time_ns) const {
    return static_cast<std::size_t>(
        std::lower_bound(recording_.operations.begin(), recording_.operations.end(), time_ns,
                         [](const RecordedOperation& o, std::int64_t time) { return o.call_ns < time; }) -
        recording_.operations.begin());
  }

  void match_allocations() {
    tensor_of_.assign(recording_.allocations.size(), kNone);
    born_.resize(recording_.allocations.size());
    dies_.resize(recording_.allocations.size());
    const std::size_t begin = spans_[result_.regular.front()].begin;
    const std::size_t end = spans_[result_.regular.back()].end;
    std::vector<std::uint32_t> iteration_of(recording_.operations.size() + 1, kNone);
    for (const std::uint32_t i : result_.regular) {
      for (std::size_t at = spans_[i].begin; at < spans_[i].end; ++at) iteration_of[at] = i;
    }
    std::map<std::tuple<std::int64_t, std::uint32_t>, std::uint32_t> known;  // size and k-th of it
    std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> seen;    // iteration and size
    for (std::size_t a = 0; a < recording_.allocations.size(); ++a) {
      const RecordedAllocation& allocation = recording_.allocations[a];
      if (allocation.bytes <= 0) continue;
      born_[a] = operation_at(allocation.alloc_ns);
      dies_[a] = allocation.free_ns ? operation_at(*allocation.free_ns) : recording_.operations.size();
      if (born_[a] >= end || dies_[a] <= begin) continue;
      const bool old = born_[a] < begin;
      if (old && dies_[a] < end) continue;  // left over from before
      const bool lasting = !allocation.free_ns && dies_[a] - born_[a] > 2 * length();
      if (old || lasting) {
        add(index(a), true, kNone);
        continue;
      }
      const std::uint32_t iteration = iteration_of[born_[a]];
      if (iteration == kNone) continue;
      const std::uint32_t k = seen[{iteration, allocation.asked()}]++;
      const auto [place, fresh] = known.try_emplace({allocation.asked(), k}, index(result_.tensors.size()));
      if (fresh) {
        add(index(a), false, iteration);
        result_.tensors.back().ordinal = k;
      } else {
        tensor_of_[a] = place->second;
        result_.tensors[place->second].allocations.push_back(index(a));
        result_.tensors[place->second].iterations.push_back(iteration);
      }
    }
    drop_sporadic();
  }

  /// Tensors of less than half of the iterations are no part of the typical one.
  void drop_sporadic() {
    std::vector<std::uint32_t> renumbered(result_.tensors.size(), kNone);
    std::size_t kept = 0;
    for (std::size_t t = 0; t < result_.tensors.size(); ++t) {
      MatchedTensor& matched = result_.tensors[t];
      if (!matched.tensor.persistent && 2 * matched.allocations.size() < result_.regular.size()) {
        result_.sporadic_allocations += static_cast<std::int64_t>(matched.allocations.size());
        continue;
      }
      renumbered[t] = index(kept);
      if (kept != t) result_.tensors[kept] = std::move(matched);
      ++kept;
    }
    result_.tensors.resize(kept);
    for (std::uint32_t& tensor : tensor_of_) {
      if (tensor != kNone) tensor = renumbered[tensor];
    }
  }

  void add(std::uint32_t allocation, bool persistent, std::uint32_t iteration) {
    const RecordedAllocation& model = recording_.allocations[allocation];
    MatchedTensor matched;
    matched.tensor.size = model.bytes;
    matched.tensor.persistent = persistent;
    matched.requested = model.asked();
    matched.allocations.push_back(allocation);
    if (!persistent) matched.iterations.push_back(iteration);
    matched.movable = model.movable;
    tensor_of_[allocation] = index(result_.tensors.size());
    result_.tensors.push_back(std::move(matched));
  }

  /// Birth and age in operations as most of the instances have them; an instance alive at the end of the
  /// recording counts only where there is no other. Instances born elsewhere are other tensors in disguise
  /// and are left out.
  void read_lives() {
    for (MatchedTensor& matched : result_.tensors) {
      if (matched.tensor.persistent) continue;
      std::map<std::pair<std::size_t, std::size_t>, int> lives;
      for (std::size_t k = 0; k < matched.allocations.size(); ++k) {
        const std::uint32_t a = matched.allocations[k];
        const bool cut_off = dies_[a] >= recording_.operations.size();
        lives[{born_[a] - spans_[matched.iterations[k]].begin, age(a)}] += cut_off ? 1 : 1'000;
        matched.movable = matched.movable && recording_.allocations[a].movable;
      }
      const auto common = std::max_element(lives.begin(), lives.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
      const auto [birth, common_age] = common->first;
      for (std::size_t k = 0; k < matched.allocations.size(); ++k) {
        const std::uint32_t a = matched.allocations[k];
        if (born_[a] - spans_[matched.iterations[k]].begin == birth) {
          if (age(a) == common_age) matched.model = index(k);  // the last one, when the job has settled
          continue;
        }
        tensor_of_[a] = kNone;
        ++result_.sporadic_allocations;
      }
      leave_out_strangers(matched);
      matched.tensor.birth = index(birth);
      matched.tensor.death = index((birth + common_age) % length());
      if (common_age < length() && !meets_successor(matched)) continue;
      ++result_.long_lives;
      matched.tensor.persistent = true;
      matched.tensor.size *= static_cast<std::int64_t>((common_age + 1) / length() + 1);
      result_.long_life_bytes += matched.tensor.size;
      matched.movable = false;
    }
  }

  /// What was matched by its size and turned out to be born elsewhere is no instance.
  void leave_out_strangers(MatchedTensor& matched) const {
    const std::uint32_t model = matched.allocations[matched.model];
    std::size_t kept = 0;
    for (std::size_t k = 0; k < matched.allocations.size(); ++k) {
      if (tensor_of_[matched.allocations[k]] == kNone) continue;
      if (matched.allocations[k] == model) matched.model = index(kept);
      matched.allocations[kept] = matched.allocations[k];
      matched.iterations[kept++] = matched.iterations[k];
    }
    matched.allocations.resize(kept);
    matched.iterations.resize(kept);
  }

  /// Whether an instance is freed between the same two operations as its successor is allocated, but later.
  bool meets_successor(const MatchedTensor& matched) const {
    for (std::size_t k = 0; k + 1 < matched.allocations.size(); ++k) {
      const RecordedAllocation& earlier = recording_.allocations[matched.allocations[k]];
      const RecordedAllocation& later = recording_.allocations[matched.allocations[k + 1]];
      const bool typical = age(matched.allocations[k]) == age(matched.allocations[matched.model]);
      if (typical && matched.iterations[k] + 1 == matched.iterations[k + 1])
        return earlier.free_ns && *earlier.free_ns > later.alloc_ns;
    }
    return false;
  }

  /// Operations called between an allocation and its free, less one.
  std::size_t age(std::uint32_t allocation) const {
    return std::max(dies_[allocation], born_[allocation] + 1) - born_[allocation] - 1;
  }

  void read_accesses() {
    std::vector<std::uint32_t> position_of(recording_.operations.size(), kNone);
    for (const std::uint32_t i : result_.regular) {
      for (std::size_t k = 0; k < length(); ++k) position_of[spans_[i].begin + k] = index(k);
    }
    for (const RecordedAccess& access : recording_.accesses) {
      const std::uint32_t position = position_of[access.operation];
      const std::uint32_t tensor = tensor_of_[access.allocation];
      if (position == kNone || tensor == kNone) continue;
      if (!alive(result_.tensors[tensor].tensor, position)) continue;
      const auto [place, fresh] = kinds_.try_emplace({position, tensor}, access.kind);
      if (!fresh) place->second = stricter(place->second, access.kind);
    }
    for (const auto& [key, ignored] : kinds_) {
      MatchedTensor& matched = result_.tensors[key.second];
      if (matched.accesses++ == 0) matched.first_access = key.first;
      matched.last_access = key.first;
    }
  }

  static bool alive(const Tensor& tensor, std::uint32_t position) {
    if (tensor.persistent) return true;
    if (tensor.birth <= tensor.death) return tensor.birth <= position && position <= tensor.death;
    return position >= tensor.birth || position <= tensor.death;
  }

  /// What most of its allocations are called, of several the first by the alphabet. Empty where none has a
  /// name, and where that would not go into JSON or a line of text.
  std::string label_of(const MatchedTensor& matched) const {
    constexpr std::size_t kLongest = 200;
    std::map<std::uint32_t, int> counts;
    for (const std::uint32_t a : matched.allocations) {
      if (const std::uint32_t label = recording_.allocations[a].label; label != 0) ++counts[label];
    }
    const auto rarer = [&](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second
                                  : recording_.names[a.first] > recording_.names[b.first];
    };
    const auto most = std::max_element(counts.begin(), counts.end(), rarer);
    if (most == counts.end()) return "";
    const std::string& label = recording_.names[most->first];
    return label.size() <= kLongest && nlohmann::json::accept('"' + label + '"') ? label : "";
  }

  /// By its label, else by its bytes, and which of them it is where there are several. Program order numbers
  /// them, whether they can move or not, so that a name does not depend on the budget.
  void name_tensors() {
    std::vector<std::string> bases;
    std::map<std::string, int> shared, numbers;
    for (const MatchedTensor& matched : result_.tensors) {
      bases.push_back(label_of(matched));
      if (bases.back().empty()) {
        bases.back() = fmt::format("{} bytes", matched.requested);
        ++shared[bases.back()];  // always numbered
      }
      ++shared[bases.back()];
    }
    std::set<std::string> taken;
    for (std::size_t t = 0; t < bases.size(); ++t) {
      std::string name = bases[t];
      for (bool numbered = shared[name] > 1; numbered || taken.contains(name); numbered = false)
        name = fmt::format("{} #{}", bases[t], numbers[bases[t]]++);
      taken.insert(name);
      result_.tensors[t].tensor.name = std::move(name);
    }
  }

  void fill_workload() {
    Workload all;
    all.operations.resize(length());
    Workload fixed = all;
    std::vector<std::uint32_t> place(result_.tensors.size(), kNone);
    for (std::size_t t = 0; t < result_.tensors.size(); ++t) {
      MatchedTensor& matched = result_.tensors[t];
      matched.movable = matched.movable && (!matched.tensor.persistent || matched.accesses > 0);
      all.tensors.push_back(matched.tensor);
      if (!matched.movable) {
        fixed.tensors.push_back(matched.tensor);
        continue;
      }
      place[t] = index(result_.workload.tensors.size());
      result_.tensor.push_back(index(t));
      result_.workload.tensors.push_back(matched.tensor);
    }
    result_.footprint_bytes = footprint(all);
    result_.resident_bytes = footprint(fixed);
    for (const auto& [key, kind] : kinds_) {
      const auto [position, tensor] = key;
      if (place[tensor] != kNone)
        result_.workload.operations[position].accesses.push_back({place[tensor], kind});
    }
  }

  void read_names() {
    result_.named.resize(length());
    const std::size_t begin = spans_[result_.regular.back()].begin;
    for (const RecordedAccess& access : recording_.accesses) {
      const std::uint32_t tensor = tensor_of_[access.allocation];
      if (access.operation < begin || access.operation >= begin + length() || tensor == kNone) continue;
      std::vector<std::uint32_t>& names = result_.named[access.operation - begin];
      if (std::find(names.begin(), names.end(), tensor) == names.end()) names.push_back(tensor);
    }
  }

  const Recording& recording_;
  const std::vector<IterationSpan>& spans_;
  RecordedIteration result_;
  std::vector<std::uint32_t> tensor_of_;  ///< by allocation
  std::vector<std::size_t> born_, dies_;  ///< by allocation: the operation called next
  std::map<std::pair<std::uint32_t, std::uint32_t>, AccessKind> kinds_;  ///< by position and tensor
};

}  // namespace

RecordedIteration typical_iteration(const Recording& recording, const Iterations& iterations) {
  return Reader(recording, iterations).read();
}

}  // namespace tferry::analyzer
