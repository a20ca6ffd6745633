#pragma once

#include "trace/record_enums.hpp"
#include "trace/session_column.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tferry::trace {

// Rows about plans: bounds, plans, simulations and measured runs.
// Bounds and simulations can be dropped and made again from the recorded ones. `known_by` columns say
// measured, simulated, emulated, assumed or unknown. `position` counts the operations of one iteration from
// 0.

/// The time below which no plan can go.
struct BoundRow {
  static constexpr const char* kTable = "bound";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::int64_t budget_bytes = 0;
  std::int64_t bound_ns = 0;
  std::optional<std::int64_t> in_memory_ns = {};
  std::string resource = {};  ///< that sets it: compute, link_in, link_out, duplex, capacity
  std::optional<std::int64_t> from_position = {};  ///< of the window that decides
  std::optional<std::int64_t> to_position = {};
  std::optional<std::int64_t> bytes_in = {};  ///< forced, per iteration
  std::optional<std::int64_t> bytes_out = {};
  std::optional<double> link_h2d_bytes_per_second = {};  ///< assumed or measured for it
  std::optional<double> link_d2h_bytes_per_second = {};
  std::string link_known_by = {};
  std::optional<std::string> route = {};  ///< by which contents go: direct, neighbour, both; NULL: direct

  template <typename Row = BoundRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"budget_bytes", &Row::budget_bytes},
                      Column{"bound_ns", &Row::bound_ns},
                      Column{"in_memory_ns", &Row::in_memory_ns},
                      Column{"resource", &Row::resource},
                      Column{"from_position", &Row::from_position},
                      Column{"to_position", &Row::to_position},
                      Column{"bytes_in", &Row::bytes_in},
                      Column{"bytes_out", &Row::bytes_out},
                      Column{"link_h2d_bytes_per_second", &Row::link_h2d_bytes_per_second},
                      Column{"link_d2h_bytes_per_second", &Row::link_d2h_bytes_per_second},
                      Column{"link_known_by", &Row::link_known_by},
                      Column{"route", &Row::route}};
  }
};

/// One plan: what moves when.
struct PlanRow {
  static constexpr const char* kTable = "plan";
  std::int64_t id = 0;
  std::string name = {};
  std::string planner = {};
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::int64_t budget_bytes = 0;
  std::int64_t footprint_bytes = 0;
  std::optional<std::int64_t> iteration_signature = {};  ///< of the operations that it was made for
  std::int64_t operations = 0;                           ///< per iteration
  std::optional<std::int64_t> predicted_ns = {};
  std::optional<std::int64_t> bound_ns = {};
  std::optional<std::int64_t> in_memory_ns = {};
  std::int64_t bytes_in = 0;  ///< per iteration
  std::int64_t bytes_out = 0;
  std::optional<std::string> sha256 = {};  ///< of its actions, set before a run
  std::string created = {};                ///< ISO 8601
  // What the placement of its tensors depends on. NULL in sessions of schema version 1.
  std::optional<std::int64_t> chunk_bytes = {};    ///< of the run's device handles
  std::optional<std::int64_t> movable_bytes = {};  ///< allocations from this size on are in the plan
  std::optional<std::int64_t> chunk_count = {};    ///< of the plan; the rest of the budget is for others
  std::optional<double> slack = {};  ///< share of these that it was made without, to be placeable
  std::optional<std::int64_t> forced_bytes = {};  ///< both ways, what an iteration must move at least
  std::optional<double> link_h2d_bytes_per_second = {};
  std::optional<double> link_d2h_bytes_per_second = {};
  std::optional<double> duplex_h2d_bytes_per_second = {};
  std::optional<double> duplex_d2h_bytes_per_second = {};
  // NULL in sessions of schema version 5 and older: by the GPU's own link.
  std::optional<std::string> route = {};          ///< by which contents go: direct, neighbour, both
  std::optional<std::string> link_known_by = {};  ///< how the rates are known
  std::optional<double> link_reached = {};        ///< share of the rates that a copy gets by that way
  std::optional<double> link_copy_ns = {};        ///< what a copy takes there beside its bytes

  template <typename Row = PlanRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"name", &Row::name},
                      Column{"planner", &Row::planner},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"budget_bytes", &Row::budget_bytes},
                      Column{"footprint_bytes", &Row::footprint_bytes},
                      Column{"iteration_signature", &Row::iteration_signature},
                      Column{"operations", &Row::operations},
                      Column{"predicted_ns", &Row::predicted_ns},
                      Column{"bound_ns", &Row::bound_ns},
                      Column{"in_memory_ns", &Row::in_memory_ns},
                      Column{"bytes_in", &Row::bytes_in},
                      Column{"bytes_out", &Row::bytes_out},
                      Column{"sha256", &Row::sha256},
                      Column{"created", &Row::created},
                      Column{"chunk_bytes", &Row::chunk_bytes},
                      Column{"movable_bytes", &Row::movable_bytes},
                      Column{"chunk_count", &Row::chunk_count},
                      Column{"slack", &Row::slack},
                      Column{"forced_bytes", &Row::forced_bytes},
                      Column{"link_h2d_bytes_per_second", &Row::link_h2d_bytes_per_second},
                      Column{"link_d2h_bytes_per_second", &Row::link_d2h_bytes_per_second},
                      Column{"duplex_h2d_bytes_per_second", &Row::duplex_h2d_bytes_per_second},
                      Column{"duplex_d2h_bytes_per_second", &Row::duplex_d2h_bytes_per_second},
                      Column{"route", &Row::route},
                      Column{"link_known_by", &Row::link_known_by},
                      Column{"link_reached", &Row::link_reached},
                      Column{"link_copy_ns", &Row::link_copy_ns}};
  }
};

/// One step of a plan.
struct PlanActionRow {
  static constexpr const char* kTable = "plan_action";
  std::int64_t id = 0;
  std::int64_t plan_id = 0;
  std::int64_t number = 0;  ///< order within the plan
  TransferKind kind = TransferKind::kUnknown;
  std::int64_t tensor_id = 0;  ///< of the analysis that made it; `tensor` stays right after another one
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t after_position = 0;  ///< not before this operation is done
  std::int64_t before_position =
      0;  ///< needed by this one; smaller than after_position: in the next iteration
  std::optional<double> planned_start_ns = {};  ///< from the start of the iteration
  std::optional<double> planned_end_ns = {};
  std::optional<std::string> tensor = {};  ///< its name in the plan; NULL in version 1

  template <typename Row = PlanActionRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"plan_id", &Row::plan_id},
                      Column{"number", &Row::number},
                      Column{"kind", &Row::kind},
                      Column{"tensor_id", &Row::tensor_id},
                      Column{"offset", &Row::offset},
                      Column{"bytes", &Row::bytes},
                      Column{"after_position", &Row::after_position},
                      Column{"before_position", &Row::before_position},
                      Column{"planned_start_ns", &Row::planned_start_ns},
                      Column{"planned_end_ns", &Row::planned_end_ns},
                      Column{"tensor", &Row::tensor}};
  }
};

/// One simulated iteration under a policy or plan.
struct SimulationRow {
  static constexpr const char* kTable = "simulation";
  std::int64_t id = 0;
  std::optional<std::int64_t> plan_id = {};
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::string policy = {};
  std::int64_t budget_bytes = 0;
  std::int64_t predicted_ns = 0;
  std::int64_t stall_ns = 0;
  std::int64_t bytes_in = 0;
  std::int64_t bytes_out = 0;
  std::optional<std::int64_t> peak_bytes = {};
  std::string resource = {};  ///< that limits it

  template <typename Row = SimulationRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"plan_id", &Row::plan_id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"policy", &Row::policy},
                      Column{"budget_bytes", &Row::budget_bytes},
                      Column{"predicted_ns", &Row::predicted_ns},
                      Column{"stall_ns", &Row::stall_ns},
                      Column{"bytes_in", &Row::bytes_in},
                      Column{"bytes_out", &Row::bytes_out},
                      Column{"peak_bytes", &Row::peak_bytes},
                      Column{"resource", &Row::resource}};
  }
};

/// One job under a plan or policy, as it was measured.
struct RunRow {
  static constexpr const char* kTable = "run";
  std::int64_t id = 0;
  std::optional<std::int64_t> plan_id = {};
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::string policy = {};
  std::optional<std::int64_t> budget_bytes = {};
  std::optional<std::int64_t> peak_bytes = {};
  std::optional<std::int64_t> iterations = {};
  std::optional<std::int64_t> iteration_ns = {};  ///< of those that followed the plan, mean
  std::optional<std::int64_t> predicted_ns = {};
  std::optional<std::int64_t> bound_ns = {};
  std::optional<std::int64_t> in_memory_ns = {};
  std::optional<std::int64_t> actions_planned = {};
  std::optional<std::int64_t> actions_used = {};
  std::optional<double> followed = {};        ///< share of operations on the plan, 0 to 1
  std::optional<std::int64_t> bytes_in = {};  ///< per iteration
  std::optional<std::int64_t> bytes_out = {};
  std::optional<std::int64_t> late_fetches = {};
  std::optional<std::int64_t> wait_ns = {};              ///< of the GPU for memory, per iteration
  std::optional<std::int64_t> iterations_followed = {};  ///< in which every operation was where the plan says
  std::optional<std::int64_t> departures = {};           ///< times that the job left the plan
  std::optional<std::int64_t> mappings = {};             ///< mapping calls in iterations under the plan
  std::optional<std::int64_t> forced_bytes = {};         ///< both ways, what an iteration must move at least
  /// By which contents went: direct, neighbour, both; left: by a neighbour first, then directly. Where it is
  /// not the plan's, predicted_ns and bound_ns are NULL.
  std::optional<std::string> route = {};

  template <typename Row = RunRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"plan_id", &Row::plan_id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"policy", &Row::policy},
                      Column{"budget_bytes", &Row::budget_bytes},
                      Column{"peak_bytes", &Row::peak_bytes},
                      Column{"iterations", &Row::iterations},
                      Column{"iteration_ns", &Row::iteration_ns},
                      Column{"predicted_ns", &Row::predicted_ns},
                      Column{"bound_ns", &Row::bound_ns},
                      Column{"in_memory_ns", &Row::in_memory_ns},
                      Column{"actions_planned", &Row::actions_planned},
                      Column{"actions_used", &Row::actions_used},
                      Column{"followed", &Row::followed},
                      Column{"bytes_in", &Row::bytes_in},
                      Column{"bytes_out", &Row::bytes_out},
                      Column{"late_fetches", &Row::late_fetches},
                      Column{"wait_ns", &Row::wait_ns},
                      Column{"iterations_followed", &Row::iterations_followed},
                      Column{"departures", &Row::departures},
                      Column{"mappings", &Row::mappings},
                      Column{"forced_bytes", &Row::forced_bytes},
                      Column{"route", &Row::route}};
  }
};

}  // namespace tferry::trace
