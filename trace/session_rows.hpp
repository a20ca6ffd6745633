#pragma once

#include "trace/session_derived_rows.hpp"
#include "trace/session_gpu_rows.hpp"
#include "trace/session_job_rows.hpp"
#include "trace/session_memory_rows.hpp"
#include "trace/session_plan_rows.hpp"
#include "trace/session_slot_rows.hpp"

#include <tuple>

namespace tferry::trace {

/// All tables of a session, in the order in which they are made and documented.
using SessionRows =
    std::tuple<MetaRow, EnumerationRow, StringRow, ProcessRow, DeviceRow, ProcessDeviceRow, LinkRow,
               StreamRow, KernelRow, MemcpyRow, MemsetRow, GraphLaunchRow, AllocationRow, AllocationNameRow,
               PoolOperationRow, AccessRow, SwapRow, GateRow, UmEventRow, CounterRow, SyncRow, MarkerRow,
               OverheadRow, ApiCallRow, RecordedRangeRow, LossRow, IterationRow, OperationRow, TensorRow,
               TensorAllocationRow, TransferRow, ContentionRow, BoundRow, PlanRow, PlanActionRow,
               SimulationRow, RunRow, SlotUseRow, SlotRow>;

/// Calls `visit.template operator()<Row>()` for each table.
template <typename Visit>
void for_each_table(Visit&& visit) {
  [&]<typename... Row>(std::type_identity<std::tuple<Row...>>) {
    (visit.template operator()<Row>(), ...);
  }(std::type_identity<SessionRows>{});
}

}  // namespace tferry::trace
