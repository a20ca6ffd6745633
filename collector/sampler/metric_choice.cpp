#include "collector/sampler/metric_choice.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace tferry::collector {
namespace {

constexpr std::string_view kRollups[] = {".sum", ".avg", ".max"};

/// ".sum" of "pcie__read_bytes.sum"; empty: none.
std::string_view rollup_of(std::string_view counter) {
  for (const std::string_view rollup : kRollups) {
    if (counter.ends_with(rollup)) return rollup;
  }
  return {};
}

std::vector<std::string> spellings(const std::string& base) {
  static const std::map<std::string, std::string> kOther = {{"dram__bytes_read", "dram__bytes_op_read"},
                                                            {"dram__bytes_write", "dram__bytes_op_write"}};
  std::vector<std::string> names = {base};
  if (const auto other = kOther.find(base); other != kOther.end()) names.push_back(other->second);
  return names;
}

bool has(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> usual_counters() {
  return {"pcie__read_bytes.sum",  "pcie__write_bytes.sum",   "dram__bytes_read.sum", "dram__bytes_write.sum",
          "sm__cycles_active.avg", "gpc__cycles_elapsed.max", "nvlrx__bytes.sum",     "nvltx__bytes.sum"};
}

std::string find_metric(const std::string& counter, std::span<const std::string> base_metrics) {
  const std::string rollup(rollup_of(counter));
  const std::string base = counter.substr(0, counter.size() - rollup.size());
  for (const std::string& name : spellings(base)) {
    if (has(base_metrics, name)) return name + rollup;
    // A triage group, such as PCI.TriageCompute: the one for compute before those for graphics.
    std::string grouped;
    for (const std::string& candidate : base_metrics) {
      if (!candidate.ends_with("." + name)) continue;
      if (grouped.empty() || candidate.find("TriageCompute") != std::string::npos) grouped = candidate;
    }
    if (!grouped.empty()) return grouped + rollup;
  }
  return "";
}

std::vector<Metric> choose_metrics(std::span<const std::string> counters,
                                   std::span<const std::string> base_metrics,
                                   const std::function<int(std::span<const std::string>)>& passes) {
  std::vector<Metric> chosen;
  std::vector<std::string> names;
  for (const std::string& counter : counters) {
    const std::string name = find_metric(counter, base_metrics);
    if (name.empty() || has(names, name)) continue;
    names.push_back(name);
    if (passes(names) == 1) {
      chosen.push_back({counter, name});
    } else {
      names.pop_back();
    }
  }
  return chosen;
}

}  // namespace tferry::collector
