#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tferry::collector {

/// A counter that we want, and the name by which one chip knows it.
struct Metric {
  std::string counter;  ///< as records carry it: "dram__bytes_read.sum"
  std::string name;     ///< as the chip's profiler knows it: "dram__bytes_op_read.sum" on GB202
};

/// The counters that matter here, most important first: PCIe both ways (read: received by the GPU), DRAM both
/// ways, cycles in which an SM was active (of all SMs, on average) and cycles in all (their number in a
/// sample tells the clock), NVLink both ways. There are none of copy engines.
std::vector<std::string> usual_counters();

/// The name of `counter` among a chip's base metrics; empty if it has none. Chips differ: GB100 knows PCIe
/// bytes as PCI.TriageCompute.pcie__read_bytes only, GB202 says dram__bytes_op_read.
std::string find_metric(const std::string& counter, std::span<const std::string> base_metrics);

/// As many of `counters` as fit one pass, which sampling needs, taken in their order. `passes` tells how many
/// a set of names takes, 0 if the set is impossible.
std::vector<Metric> choose_metrics(std::span<const std::string> counters,
                                   std::span<const std::string> base_metrics,
                                   const std::function<int(std::span<const std::string>)>& passes);

}  // namespace tferry::collector
