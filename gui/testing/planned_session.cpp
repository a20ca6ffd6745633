#include "gui/testing/planned_session.hpp"

#include "gui/testing/session_maker.hpp"

namespace tferry::gui {
namespace {

constexpr std::int64_t kMs = 1'000'000, kStart = SessionMaker::kStart;
constexpr std::int64_t kWeight = std::int64_t{64} << 20;

void add_move(trace::SessionWriter& writer, trace::TransferKind kind, std::int64_t from, std::int64_t to,
              std::optional<std::int64_t> operation) {
  trace::MemcpyRow copy;
  copy.process_id = copy.device_id.emplace(1);
  copy.stream_id = 4;
  copy.start_ns = from;
  copy.end_ns = to;
  copy.bytes = kWeight;
  copy.kind =
      kind == trace::TransferKind::kFetch ? trace::CopyKind::kHostToDevice : trace::CopyKind::kDeviceToHost;
  copy.source_kind = copy.destination_kind = trace::MemoryKind::kPinned;
  copy.owner = trace::StreamOwner::kRuntime;
  trace::SwapRow swap;
  swap.process_id = swap.device_id.emplace(1);
  swap.kind = kind;
  swap.allocation_id = 1;
  swap.bytes = kWeight;
  swap.operation = operation;
  swap.submit_ns = from;
  swap.memcpy_id = writer.insert(copy);
  writer.insert(swap);
}

void add_iteration(trace::SessionWriter& writer, std::int64_t number) {
  const std::int64_t start = kStart + number * 12 * kMs;
  trace::IterationRow iteration;
  iteration.process_id = 1;
  iteration.number = number;
  iteration.start_ns = start;
  iteration.end_ns = start + 12 * kMs;
  iteration.first_operation = 2 * number + 1;
  iteration.last_operation = 2 * number + 2;
  iteration.regular = 1;
  iteration.source = "period";
  iteration.id = writer.insert(iteration);
  for (const std::int64_t operation : {1, 2}) {
    trace::KernelRow kernel;
    kernel.process_id = kernel.device_id.emplace(1);
    kernel.stream_id = 3;
    kernel.start_ns = start + (operation == 1 ? 0 : 8) * kMs;
    kernel.end_ns = *kernel.start_ns + 4 * kMs;
    kernel.call_ns = start;
    kernel.name_id = writer.intern(operation == 1 ? "forward" : "backward");
    kernel.operation = 2 * number + operation;
    kernel.owner = trace::StreamOwner::kProgram;
    trace::OperationRow row;
    row.process_id = 1;
    row.operation = *kernel.operation;
    row.iteration_id = iteration.id;
    row.position = operation - 1;
    row.kind = "kernel";
    row.name_id = kernel.name_id;
    row.device_id = 1;
    row.call_ns = start;
    row.start_ns = kernel.start_ns;
    row.end_ns = kernel.end_ns;
    row.kernel_id = writer.insert(kernel);
    writer.insert(row);
  }
  add_move(writer, trace::TransferKind::kPark, start + kMs, start + 3 * kMs, {});
  add_move(writer, trace::TransferKind::kFetch, start + 5 * kMs, start + 8 * kMs,
           number == 0 ? std::optional<std::int64_t>(2) : std::nullopt);
  if (number == 0) writer.insert(trace::GateRow{1, 1, 2, start + 6 * kMs, start + 8 * kMs, kWeight, 0, 1});
}

void add_plan(trace::SessionWriter& writer) {
  trace::PlanRow plan;
  plan.name = plan.planner = "lookahead";
  plan.process_id = plan.device_id.emplace(1);
  plan.budget_bytes = plan.footprint_bytes = std::int64_t{256} << 20;
  plan.predicted_ns = 10 * kMs;
  plan.bound_ns = 9 * kMs;
  plan.in_memory_ns = 8 * kMs;
  plan.bytes_in = plan.bytes_out = kWeight;
  const std::int64_t id = writer.insert(plan);
  for (const auto& [kind, from, to] :
       {std::tuple(trace::TransferKind::kPark, 1.0, 3.0), {trace::TransferKind::kFetch, 4.0, 6.0}}) {
    trace::PlanActionRow action;
    action.plan_id = id;
    action.number = kind == trace::TransferKind::kPark ? 1 : 2;
    action.kind = kind;
    action.tensor_id = 1;
    action.bytes = kWeight;
    action.after_position = 0;
    action.before_position = 1;
    action.planned_start_ns = from * kMs;
    action.planned_end_ns = to * kMs;
    action.tensor = "layer1.weight";
    writer.insert(action);
  }
  trace::RunRow run;
  run.plan_id = id;
  run.process_id = run.device_id.emplace(1);
  run.policy = "lookahead";
  run.budget_bytes = plan.budget_bytes;
  run.iterations = run.iterations_followed = 2;
  run.departures = 0;
  run.iteration_ns = 12 * kMs;
  run.predicted_ns = 10 * kMs;
  run.bound_ns = 9 * kMs;
  run.in_memory_ns = 8 * kMs;
  run.wait_ns = 2 * kMs;
  run.late_fetches = 1;
  writer.insert(run);
}

}  // namespace

void write_planned_session(const std::string& path) {
  SessionMaker maker(path);
  trace::SessionWriter& writer = maker.writer();
  trace::StreamRow stream;
  stream.id = 4;
  stream.process_id = 1;
  stream.device_id = 1;
  stream.cupti_stream_id = 8;
  stream.owner = trace::StreamOwner::kRuntime;
  writer.insert(stream);
  trace::AllocationRow allocation;
  allocation.id = 1;
  allocation.process_id = allocation.device_id.emplace(1);
  allocation.allocation = 1;
  allocation.bytes = allocation.reserved_bytes = kWeight;
  allocation.memory_kind = trace::MemoryKind::kDevice;
  allocation.alloc_ns = kStart;
  writer.insert(allocation);
  trace::TensorRow tensor;
  tensor.id = 1;
  tensor.process_id = tensor.device_id.emplace(1);
  tensor.name = "layer1.weight";
  tensor.category = "parameter";
  tensor.bytes = kWeight;
  tensor.persistent = tensor.movable = tensor.instances = 1;
  writer.insert(tensor);
  writer.insert(trace::TensorAllocationRow{1, 1, {}});
  for (const std::int64_t number : {0, 1}) add_iteration(writer, number);
  add_plan(writer);
  writer.set_meta("analysis.created", "by a test");
  maker.publish();
}

const std::string& planned_session() {
  static const trace::TestDirectory directory;
  static const std::string path = [] {
    const std::string made = directory / "planned.tferry";
    write_planned_session(made);
    return made;
  }();
  return path;
}

}  // namespace tferry::gui
