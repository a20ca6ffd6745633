#include "analyzer/placement/copy_times.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

/// A presence that a copy begins or ends.
struct Copy {
  double at_ns = 0;  ///< of its tick, in the first iteration
  double bytes = 0;
  Presence* presence = nullptr;
};

std::vector<Copy> copies(std::vector<Part>& parts, const TickTimes& times, std::int64_t chunk_bytes,
                         bool returns) {
  std::vector<Copy> all;
  for (Part& part : parts) {
    for (Presence& presence : part.presences) {
      if (!(returns ? presence.returns : presence.leaves)) continue;
      const auto total = static_cast<std::uint32_t>(times.at_ns.size());
      all.push_back({times.at((returns ? presence.begin : presence.end) % total),
                     static_cast<double>(chunk_bytes) * part.count, &presence});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Copy& a, const Copy& b) { return a.at_ns < b.at_ns; });
  return all;
}

}  // namespace

void expect_copies(std::vector<Part>& parts, const TickTimes& times, const LinkRates& link, bool shared,
                   std::int64_t chunk_bytes) {
  const double out_rate = link.reached * (shared ? link.duplex_out : link.out);
  const double in_rate = link.reached * (shared ? link.duplex_in : link.in);
  // Twice around, so that what the end of an iteration leaves over is known at its beginning.
  double done = 0;
  const std::vector<Copy> out = copies(parts, times, chunk_bytes, false);
  for (const double lap_ns : {0.0, times.iteration_ns}) {
    for (const Copy& copy : out) {
      done = std::max(done, copy.at_ns + lap_ns) + copy.bytes / out_rate;
      copy.presence->delay_ns = done - copy.at_ns - lap_ns;
    }
  }
  std::vector<Copy> in = copies(parts, times, chunk_bytes, true);
  std::reverse(in.begin(), in.end());
  double begun = 2 * times.iteration_ns;
  for (const double lap_ns : {times.iteration_ns, 0.0}) {
    for (const Copy& copy : in) {
      begun = std::min(begun, copy.at_ns + lap_ns) - copy.bytes / in_rate;
      copy.presence->lead_ns = copy.at_ns + lap_ns - begun;
    }
  }
}

}  // namespace tferry::analyzer
