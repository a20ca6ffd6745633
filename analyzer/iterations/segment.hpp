#pragma once

#include "analyzer/iterations/ngram_index.hpp"
#include "analyzer/iterations/period.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// The runs of 1, 4 and 12 signatures of one sequence: short ones survive small variations between
/// iterations, long ones are particular to one place within an iteration.
class SignatureIndex {
 public:
  explicit SignatureIndex(std::span<const std::uint32_t> signatures);

  std::size_t size() const { return size_; }
  const std::array<NgramIndex, 3>& scales() const { return scales_; }
  /// Runs to compare iterations of that length by: long, so that chance hardly repeats them, yet of at most a
  /// quarter of a period where that is possible, so that what follows an iteration matters little.
  const NgramIndex& scale_for(std::size_t period) const;

 private:
  std::size_t size_;
  std::array<NgramIndex, 3> scales_;
};

/// How far two iterations of about `period` operations may differ in length.
std::size_t period_tolerance(std::size_t period);

/// A sequence cut into pieces of about one length.
struct Segmentation {
  std::vector<IterationSpan> spans;
  std::size_t period = 0;  ///< median length
  double likeness = 0;     ///< average share of a piece's runs that a typical piece has too
  double contiguity = 0;   ///< share of pieces that begin where the one before ends
  double coverage = 0;     ///< share of the operations from the first piece to the end that lie in pieces

  /// To rank segmentations by.
  double fit() const { return coverage * likeness * likeness; }
};

/// Cuts at the run that most often comes back after `period` operations, the earliest such run where several
/// do so about equally often. Pieces that do not resemble a typical one are left out. Nothing when fewer than
/// two remain.
std::optional<Segmentation> cut_at_period(const SignatureIndex& index, std::size_t period);

}  // namespace tferry::analyzer
