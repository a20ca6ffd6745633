#pragma once

#include "trace/session.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::cli {

/// What one process asked of one GPU, in words that two recordings of the same job share: no times, no
/// addresses, no ids.
struct Structure {
  std::string label;  ///< "rank 0, GPU 0"
  std::vector<std::string>
      operations;  ///< "kernel NAME grid 1x1x1 block 256x1x1", "memcpy host_to_device 4096"
  std::vector<std::string> allocations;  ///< "25165824 device alloc freed"
};

/// One for each process that did something on a GPU and each of its GPUs, by rank (without ranks, by start).
/// Operations in the order of their calls; where no calls were recorded, in that of their start on the GPU.
/// The runtime's own are left out. Throws trace::SessionError.
std::vector<Structure> read_structures(trace::Session& session);

/// What two sequences have in common and where they first differ.
struct SequenceDifference {
  std::int64_t left = 0, right = 0;   ///< lengths
  std::int64_t first = -1;            ///< index of the first difference, -1: they are the same
  std::string left_item, right_item;  ///< there; empty where one ends
};
SequenceDifference compare_sequences(const std::vector<std::string>& left,
                                     const std::vector<std::string>& right);

}  // namespace tferry::cli
