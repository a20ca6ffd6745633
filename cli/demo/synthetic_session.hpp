#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tferry::cli {

/// What a synthetic session is made of.
struct SyntheticOptions {
  std::int64_t events = 0;  ///< in all tables together
  std::uint64_t seed = 1;
  bool force = false;
};

/// Writes a session that no GPU ran, for trying the tools on many events: two ranks on one GPU each, kernels
/// in iterations, copies that slow each other down, counters, markers, allocations. Marked as synthetic in
/// table `meta`, which every report and the viewer show. The same options give the same session. `progress`
/// gets the share that is done. Throws trace::SessionError; an existing file is refused without `force`.
/// Returns the events written.
std::int64_t write_synthetic_session(const std::string& path, const SyntheticOptions& options,
                                     const std::function<void(double)>& progress);

/// "10M", "200k", "5000". Throws Failure.
std::int64_t parse_count(const std::string& text, const std::string& option);

}  // namespace tferry::cli
