#pragma once

#include "trace/record_enums.hpp"
#include "trace/session_column.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tferry::trace {

// Rows of the derived tables: what the analyzer concluded.
// They can be dropped and made again from the recorded ones. `known_by` columns say measured, simulated,
// emulated, assumed or unknown. `position` counts the operations of one iteration from 0.

/// One iteration of a process.
struct IterationRow {
  static constexpr const char* kTable = "iteration";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::int64_t number = 0;  ///< from 0
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t first_operation = 0;
  std::int64_t last_operation = 0;
  std::int64_t regular = 0;  ///< 1: has the typical sequence of operations
  std::string source = {};   ///< period or marker
  /// Times that a shorter sequence of operations repeats in it: gradient accumulation; 1: none was found.
  std::optional<std::int64_t> micro_batches = {};
  /// Operations at which ranks wait for each other: NCCL's kernels, copies between GPUs.
  std::optional<std::int64_t> synchronisations = {};

  template <typename Row = IterationRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"number", &Row::number},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"first_operation", &Row::first_operation},
                      Column{"last_operation", &Row::last_operation},
                      Column{"regular", &Row::regular},
                      Column{"source", &Row::source},
                      Column{"micro_batches", &Row::micro_batches},
                      Column{"synchronisations", &Row::synchronisations}};
  }
};

/// One operation: a launch, copy, memset or graph launch, in the order of the calls.
struct OperationRow {
  static constexpr const char* kTable = "operation";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::int64_t operation = 0;
  std::optional<std::int64_t> iteration_id = {};
  std::optional<std::int64_t> position = {};
  std::string kind = {};  ///< kernel, memcpy, memset, graph
  std::optional<std::int64_t> signature = {};
  std::optional<std::int64_t> name_id = {};
  std::optional<std::int64_t> device_id = {};
  std::optional<std::int64_t> stream_id = {};
  std::int64_t call_ns = 0;
  std::optional<std::int64_t> start_ns = {};
  std::optional<std::int64_t> end_ns = {};
  std::optional<std::int64_t> duration_ns = {};  ///< typical of its position
  std::optional<std::int64_t> kernel_id = {};
  std::optional<std::int64_t> memcpy_id = {};
  std::optional<std::int64_t> memset_id = {};

  template <typename Row = OperationRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"operation", &Row::operation},
                      Column{"iteration_id", &Row::iteration_id},
                      Column{"position", &Row::position},
                      Column{"kind", &Row::kind},
                      Column{"signature", &Row::signature},
                      Column{"name_id", &Row::name_id},
                      Column{"device_id", &Row::device_id},
                      Column{"stream_id", &Row::stream_id},
                      Column{"call_ns", &Row::call_ns},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"duration_ns", &Row::duration_ns},
                      Column{"kernel_id", &Row::kernel_id},
                      Column{"memcpy_id", &Row::memcpy_id},
                      Column{"memset_id", &Row::memset_id}};
  }
};

/// Allocations that are the same tensor in every iteration.
struct TensorRow {
  static constexpr const char* kTable = "tensor";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::optional<std::string> name = {};
  std::optional<std::string> category = {};  ///< parameter, gradient, optimizer, activation, ...
  std::int64_t bytes = 0;
  std::int64_t persistent = 0;                      ///< 1: lives across iterations
  std::optional<std::int64_t> first_position = {};  ///< first access
  std::optional<std::int64_t> last_position = {};   ///< last access
  std::int64_t accesses = 0;                        ///< per iteration
  std::int64_t instances = 0;                       ///< allocations matched
  std::int64_t movable = 0;

  template <typename Row = TensorRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"name", &Row::name},
                      Column{"category", &Row::category},
                      Column{"bytes", &Row::bytes},
                      Column{"persistent", &Row::persistent},
                      Column{"first_position", &Row::first_position},
                      Column{"last_position", &Row::last_position},
                      Column{"accesses", &Row::accesses},
                      Column{"instances", &Row::instances},
                      Column{"movable", &Row::movable}};
  }
};

/// Which allocations a tensor is.
struct TensorAllocationRow {
  static constexpr const char* kTable = "tensor_allocation";
  std::int64_t tensor_id = 0;
  std::int64_t allocation_id = 0;
  std::optional<std::int64_t> iteration_id = {};

  template <typename Row = TensorAllocationRow>
  static constexpr auto columns() {
    return std::tuple{Column{"tensor_id", &Row::tensor_id}, Column{"allocation_id", &Row::allocation_id},
                      Column{"iteration_id", &Row::iteration_id}};
  }
};

/// One movement over a link, whatever its source.
struct TransferRow {
  static constexpr const char* kTable = "transfer";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::optional<std::int64_t> link_id = {};
  std::optional<std::int64_t> iteration_id = {};
  std::string source = {};  ///< memcpy, swap, um_event, read_in_place
  std::optional<std::int64_t> memcpy_id = {};
  std::optional<std::int64_t> swap_id = {};
  std::string direction = {};  ///< h2d, d2h, peer
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t bytes = 0;
  std::optional<double> solo_ns = {};  ///< alone on the link
  std::string solo_known_by = {};
  std::optional<double> lost_ns = {};     ///< to others
  std::optional<double> exposed_ns = {};  ///< during which no kernel of its device ran

  template <typename Row = TransferRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"link_id", &Row::link_id},
                      Column{"iteration_id", &Row::iteration_id},
                      Column{"source", &Row::source},
                      Column{"memcpy_id", &Row::memcpy_id},
                      Column{"swap_id", &Row::swap_id},
                      Column{"direction", &Row::direction},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"bytes", &Row::bytes},
                      Column{"solo_ns", &Row::solo_ns},
                      Column{"solo_known_by", &Row::solo_known_by},
                      Column{"lost_ns", &Row::lost_ns},
                      Column{"exposed_ns", &Row::exposed_ns}};
  }
};

/// Time that one side lost to another on a shared resource.
struct ContentionRow {
  static constexpr const char* kTable = "contention";
  std::int64_t id = 0;
  std::optional<std::int64_t> iteration_id = {};
  std::optional<std::int64_t> link_id = {};
  std::string resource = {};  ///< link, copy_engine, host_memory, ...
  std::optional<std::int64_t> victim_process_id = {};
  std::optional<std::int64_t> victim_device_id = {};
  std::optional<std::int64_t> culprit_process_id = {};
  std::optional<std::int64_t> culprit_device_id = {};
  std::optional<std::string> culprit = {};  ///< in words, where it is no recorded process
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double lost_ns = 0;
  std::string known_by = {};

  template <typename Row = ContentionRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"iteration_id", &Row::iteration_id},
                      Column{"link_id", &Row::link_id},
                      Column{"resource", &Row::resource},
                      Column{"victim_process_id", &Row::victim_process_id},
                      Column{"victim_device_id", &Row::victim_device_id},
                      Column{"culprit_process_id", &Row::culprit_process_id},
                      Column{"culprit_device_id", &Row::culprit_device_id},
                      Column{"culprit", &Row::culprit},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"lost_ns", &Row::lost_ns},
                      Column{"known_by", &Row::known_by}};
  }
};

}  // namespace tferry::trace
