#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// One iteration: operations [begin, end) of the sequence it was found in.
struct IterationSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
  bool operator==(const IterationSpan&) const = default;
};

/// The iterations of a job, as found in the sequence of its operations.
struct Iterations {
  /// Complete iterations in order, disjoint. Most follow each other directly; operations between two of them
  /// (an evaluation, a checkpoint) and those before the first and after the last belong to none.
  std::vector<IterationSpan> spans;
  /// Typical number of operations of an iteration (the median).
  std::size_t period = 0;
  /// How many times a shorter sequence repeats within each iteration: the gradient accumulation factor of a
  /// training job; 1 where nothing of that kind was found.
  std::size_t accumulation = 1;
  /// In (0, 1]: the share of operations from the first iteration to the end that lie in iterations, times the
  /// average likeness of those iterations to each other. Above 0.8 is a clear period.
  double confidence = 0;

  std::size_t count() const { return spans.size(); }
  std::size_t first() const { return spans.front().begin; }
};

/// Finds the iterations in a sequence of operation signatures (equal signature: same kernel, grid and block,
/// or same copy kind and size), without hints. Nothing when there is no clear period: at least three
/// iterations and a confidence of 0.6.
///
/// Runs of 1, 4 and 12 signatures that come back at a regular distance vote for that distance; a distance
/// that enough of the sequence supports is cut into iterations at its most regular run, and the pieces are
/// compared with each other. Of several nested periods (layer, micro-batch, step, training with its
/// evaluation) a longer one is taken when it adds operations that the shorter one never has (the optimiser of
/// an accumulated step), and left when it adds only more of the same (an evaluation between steps) or next to
/// nothing (a log line every ten steps). An evaluation whose every operation differs in shape from training
/// cannot be told from an optimiser and counts as one.
///
/// Tolerated: anything before the first iteration; extra and missing operations within a twentieth of the
/// period; a sequence that stops within an iteration. Iterations whose every launch changes shape are not
/// found. Linear time: a million entries take about a tenth of a second. Pure; any thread.
std::optional<Iterations> find_iterations(std::span<const std::uint32_t> signatures);

}  // namespace tferry::analyzer
