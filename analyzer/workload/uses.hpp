#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// What one operation does to one tensor, all its accesses taken together.
struct Use {
  std::uint32_t operation = 0;
  std::uint32_t tensor = 0;
  bool reads = false;   ///< needs the contents
  bool writes = false;  ///< a copy made before is no longer good afterwards
};

/// The uses of a valid workload, by operation and by tensor. Where a tensor that is not persistent is born,
/// nothing is read whatever the access says: fresh memory has no contents.
class Uses {
 public:
  explicit Uses(const Workload& workload);

  std::size_t operations() const { return operation_begin_.size() - 1; }
  std::size_t tensors() const { return tensor_begin_.size() - 1; }
  std::span<const Use> of_operation(std::size_t operation) const {
    return {by_operation_.data() + operation_begin_[operation],
            operation_begin_[operation + 1] - operation_begin_[operation]};
  }
  /// In the order of the tensor's life: from its birth on, for persistent tensors from operation 0 on.
  std::span<const Use> of_tensor(std::size_t tensor) const {
    return {by_tensor_.data() + tensor_begin_[tensor], tensor_begin_[tensor + 1] - tensor_begin_[tensor]};
  }

 private:
  std::vector<std::size_t> operation_begin_;
  std::vector<Use> by_operation_;
  std::vector<std::size_t> tensor_begin_;
  std::vector<Use> by_tensor_;
};

/// The time between two uses of a tensor that follow each other, on the cyclic axis of operations: what can
/// be parked.
struct Gap {
  std::uint32_t tensor = 0;
  std::uint32_t after = 0;   ///< operation of the first use
  std::uint32_t before = 0;  ///< operation of the next use, + number of operations when in the next iteration
  bool needed = false;       ///< the next use needs the contents; otherwise they are dead meanwhile
  bool written_before = false;  ///< by the use at `after`
  /// From the last use of a tensor that is kept to its death: `before` is the operation after it. Nothing has
  /// to come back.
  bool last = false;
};

/// All gaps of all tensors that are alive in them: per tensor in order of its life. A persistent tensor with
/// a single use has one gap around the whole iteration; one without uses has none. Contents that are kept
/// count as needed.
std::vector<Gap> gaps(const Workload& workload, const Uses& uses);

}  // namespace tferry::analyzer
