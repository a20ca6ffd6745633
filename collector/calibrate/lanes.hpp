#pragma once

#include "collector/calibrate/gpu.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace tferry::calibrate {

/// A row of copies of one kind: pieces that go to streams in turn.
struct Lane {
  const Gpu* gpu = nullptr;  ///< in whose context the streams are
  std::vector<CUstream> streams = {};
  std::int64_t piece_bytes = 0;
  int pieces = 0;
  int pieces_per_event = 1;  ///< more for small pieces, which events would slow down
  bool blocks = false;       ///< submitting waits for the copy: the lane gets a thread of its own
  std::function<void(int piece, CUstream stream)> submit = {};
};

/// Runs the lanes at once, and gives each lane's rate in bytes/s while all of them ran: the time is cut when
/// the first one ends, and pieces under way then count in part. Lanes start within the time that submitting a
/// piece takes.
///
/// Timed by events only, each lane's against its own first: times of different GPUs are never compared.
std::vector<double> run_lanes(const std::vector<Lane>& lanes);

/// Bytes done at `when`, by the times at which pieces were done (ascending, from the lane's start).
double bytes_done(const std::vector<double>& done_s, double when_s, double bytes_each);

}  // namespace tferry::calibrate
