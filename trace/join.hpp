#pragma once

#include "trace/records.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tferry::trace {

enum class OperationKind : std::uint8_t { kKernel, kMemcpy, kMemset, kGraph };

/// What an operation looks like from both sides. Fields that one side does not know are 0 or unknown there,
/// and fit everything.
struct OperationShape {
  OperationKind kind = OperationKind::kKernel;
  CopyKind copy = CopyKind::kUnknown;
  StringId name = 0;  ///< kernels
  Dim3 grid = {}, block = {};
  std::int64_t bytes = 0;  ///< copies and memsets
};

/// An operation as a hook saw it: asked for, accepted by the driver, not captured into a graph.
struct JoinCall {
  std::uint64_t stream = 0;    ///< any numbering that calls and records of one process share
  std::uint64_t sequence = 0;  ///< order within the stream
  std::int64_t time_ns = 0;    ///< call entered
  OperationShape shape;
};

/// An operation as CUPTI saw it: it ran.
struct JoinRecord {
  std::uint64_t stream = 0;
  std::uint32_t correlation_id =
      0;                       ///< order of the calls within the process; graph launches give all theirs one
  std::uint32_t graph_id = 0;  ///< not 0: launched by a graph
  /// One call is one record here, whatever the correlation id: calls that the runtime makes within one of the
  /// program's all have that one's.
  bool alone = false;
  std::int64_t start_ns = 0;  ///< 0: unknown
  OperationShape shape;
};

/// Of what is settled.
struct JoinCounts {
  std::int64_t calls = 0, records = 0;
  std::int64_t matched_calls = 0;       ///< with at least one record
  std::int64_t matched_records = 0;     ///< with a call; of a graph or a copy in parts several share one
  std::int64_t resynchronisations = 0;  ///< places where the two sequences did not fit
};

struct JoinResult {
  static constexpr std::int64_t kNone = -1;
  std::vector<std::int64_t> record_of_call;        ///< index of the call's first record, or kNone
  std::vector<std::int64_t> call_of_record;        ///< index of the record's call, or kNone
  std::vector<bool> call_settled, record_settled;  ///< false: to be joined again, with what comes later
  JoinCounts counts;
};

struct JoinOptions {
  /// A record that starts more than this before its call cannot be its. Clocks of hooks and CUPTI agree to
  /// less.
  std::int64_t clock_slack_ns = 200'000;
  /// False: these are the beginnings of longer sequences. What more calls or records could change stays
  /// unsettled and without partner.
  bool last = true;
  /// But in no stream more calls or records than this stay unsettled, whatever comes later.
  std::size_t most_unsettled = std::size_t{1} << 17;
};

/// Tells which record belongs to which call, for one process.
///
/// The n-th accepted operation of a stream is its n-th record in order of correlation ids, unless one side
/// lost some. So both sequences of a stream are walked together; a pair counts only if the shapes fit (kind,
/// name, grid, block, bytes, direction) and the record does not start before the call. Where they do not fit,
/// the shortest skip on either side is sought after which several in a row fit again (as `diff` does, within
/// a window; then far ahead on one side, for bursts of lost records). Last, what is left over close together
/// and fits is paired, for calls of two threads that overtook each other. Pairs of different shapes are thus
/// never made; among equal shapes in a row one may be taken for its neighbour where a record is missing.
///
/// Records of graphs are joined by launch: all of one correlation id to one call, launches in their order
/// over all streams of the process.
///
/// A long recording is joined piece by piece (`last`): what is settled is what a join of everything would
/// give, unless a stream lost more at once than may stay unsettled.
///
/// Order of the inputs does not matter. Time O(n log n) where they fit.
JoinResult join(std::span<const JoinCall> calls, std::span<const JoinRecord> records,
                const JoinOptions& options = {});

/// Whether the two may be the same operation.
bool shapes_fit(const OperationShape& a, const OperationShape& b);

}  // namespace tferry::trace
