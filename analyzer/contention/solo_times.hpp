#pragma once

#include "analyzer/contention/host_transfer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// Rates of copies that nothing else disturbs, in bytes per ns; empty: not known.
struct SoloRates {
  std::optional<double> in, out;
  SoloSource source = SoloSource::kUnknown;
};

struct SoloTime {
  std::optional<double> ns;
  SoloSource source = SoloSource::kUnknown;
};

/// What a rate says nothing about: below this the start of a copy takes a good part of its time.
inline constexpr std::int64_t kLeastBytesForRate = std::int64_t{1} << 20;
/// Copies of one kind and size that must have run alone before their time counts as learned.
inline constexpr std::size_t kLeastSolos = 3;

/// The time that each transfer would take alone. In this order: by the rate that the user assumes; by the
/// rate that was calibrated for its device (both for pinned memory and from 1 MiB on); learned as the median
/// of those of the same device, way, kind of host memory and size class (a quarter of an octave) that
/// overlapped no other transfer of the host, at least three of them, of those near the GPU where there are as
/// many (NUMA); otherwise unknown. Pure.
std::vector<SoloTime> solo_times(std::span<const HostTransfer> transfers, const SoloRates& assumed,
                                 const std::map<std::int64_t, SoloRates>& calibrated);

/// Whether each transfer overlaps no other.
std::vector<bool> runs_alone(std::span<const HostTransfer> transfers);

}  // namespace tferry::analyzer
