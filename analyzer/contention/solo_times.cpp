#include "analyzer/contention/solo_times.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace tferry::analyzer {
namespace {

using Kind = std::tuple<std::int64_t, Way, HostMemory, int, bool>;

Kind kind_of(const HostTransfer& transfer, bool far) {
  const double octaves = std::log2(static_cast<double>(std::max<std::int64_t>(1, transfer.bytes)));
  return {transfer.device, transfer.way, transfer.memory, static_cast<int>(std::floor(octaves * 4)), far};
}

SoloTime by_rate(const HostTransfer& transfer, const SoloRates& rates) {
  const std::optional<double> rate = transfer.way == Way::kIn    ? rates.in
                                     : transfer.way == Way::kOut ? rates.out
                                                                 : std::nullopt;
  if (!rate || transfer.bytes < kLeastBytesForRate) return {};
  return {static_cast<double>(transfer.bytes) / *rate, rates.source};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<bool> runs_alone(std::span<const HostTransfer> transfers) {
  std::vector<std::size_t> order(transfers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return transfers[a].start_ns < transfers[b].start_ns; });
  std::vector<bool> alone(transfers.size(), true);
  std::size_t longest = 0;  // of those that began before: the one that ends last
  for (std::size_t k = 1; k < order.size(); ++k) {
    const HostTransfer& before = transfers[order[longest]];
    const HostTransfer& now = transfers[order[k]];
    if (now.start_ns < before.end_ns) alone[order[k]] = alone[order[longest]] = false;
    if (now.end_ns >= before.end_ns) longest = k;
  }
  return alone;
}

std::vector<SoloTime> solo_times(std::span<const HostTransfer> transfers, const SoloRates& assumed,
                                 const std::map<std::int64_t, SoloRates>& calibrated) {
  std::map<Kind, std::vector<double>> seen;  // ns per byte
  const std::vector<bool> alone = runs_alone(transfers);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!alone[i] || transfers[i].bytes <= 0) continue;
    seen[kind_of(transfers[i], transfers[i].far)].push_back(transfers[i].duration_ns() /
                                                            static_cast<double>(transfers[i].bytes));
  }
  std::map<Kind, double> learned;
  for (auto& [kind, values] : seen) {
    if (values.size() >= kLeastSolos) learned[kind] = median(std::move(values));
  }
  std::vector<SoloTime> result;
  result.reserve(transfers.size());
  for (const HostTransfer& transfer : transfers) {
    SoloTime solo = by_rate(transfer, assumed);
    const auto rates = calibrated.find(transfer.device);
    const bool pinned = transfer.memory == HostMemory::kPinned;
    if (!solo.ns && pinned && rates != calibrated.end()) solo = by_rate(transfer, rates->second);
    // What lies far away is slow for that, and judged by what lies near.
    auto found = learned.find(kind_of(transfer, false));
    if (found == learned.end() && transfer.far) found = learned.find(kind_of(transfer, true));
    if (!solo.ns && found != learned.end()) {
      solo = {found->second * static_cast<double>(transfer.bytes), SoloSource::kLearned};
    }
    result.push_back(solo);
  }
  return result;
}

}  // namespace tferry::analyzer
