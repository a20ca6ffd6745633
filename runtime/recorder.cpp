#include "runtime/recorder.hpp"

#include <climits>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <unistd.h>

namespace tferry::runtime {
namespace {

std::uint32_t thread_id() {
  thread_local const auto id = static_cast<std::uint32_t>(gettid());
  return id;
}

/// A rank as launchers tell it: torchrun and MPI by their variables, Slurm by its own. -1: none does.
std::int32_t number_from(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    const char* text = std::getenv(name);
    if (text != nullptr && *text >= '0' && *text <= '9')
      return static_cast<std::int32_t>(std::strtol(text, nullptr, 10));
  }
  return -1;
}

}  // namespace

std::unique_ptr<Recorder> Recorder::open(const std::string& directory, std::size_t size_limit,
                                         std::size_t keep_last_ns, std::string& error) {
  trace::SpoolOptions options;
  options.source = trace::SpoolSource::kRuntime;
  options.size_limit = static_cast<std::int64_t>(size_limit);
  options.keep_last_ns = static_cast<std::int64_t>(keep_last_ns);
  auto spool = trace::SpoolWriter::open_in(directory, options, &error);
  if (!spool) return nullptr;
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(spool)));
  trace::ProcessRecord process;
  process.time_ns = trace::SpoolWriter::now_ns();
  process.pid = getpid();
  process.parent_pid = getppid();
  process.rank = number_from({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  process.local_rank =
      number_from({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
  process.world_size = number_from({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, HOST_NAME_MAX);
  process.host = recorder->spool_->intern(host);
  process.command = recorder->spool_->intern(program_invocation_short_name);  // arguments may hold secrets
  recorder->spool_->append(process);
  return recorder;
}

void Recorder::device(const cuda::Driver& driver, int ordinal, std::int64_t memory_bytes) {
  trace::DeviceRecord record;
  record.time_ns = trace::SpoolWriter::now_ns();
  record.device = ordinal;
  record.memory_bytes = memory_bytes;
  char name[128] = {};
  if (driver.cuDeviceGetName != nullptr &&
      driver.cuDeviceGetName(name, sizeof name - 1, ordinal) == CUDA_SUCCESS) {
    record.name = spool_->intern(name);
  }
  const auto attribute = [&](CUdevice_attribute which, std::int32_t& value) {
    int read = 0;
    if (driver.cuDeviceGetAttribute != nullptr &&
        driver.cuDeviceGetAttribute(&read, which, ordinal) == CUDA_SUCCESS) {
      value = read;
    }
  };
  attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, record.pci_domain);
  attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, record.pci_bus);
  attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, record.pci_device);
  attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, record.multiprocessors);
  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, record.compute_major);
  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, record.compute_minor);
  attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, record.copy_engines);
  spool_->append(record);
}

void Recorder::own_stream(CUstream stream, int ordinal) {
  trace::StreamRecord record;
  record.time_ns = trace::SpoolWriter::now_ns();
  record.handle = handle_of(stream);
  record.device = ordinal;
  record.owner = trace::StreamOwner::kRuntime;
  spool_->append(record);
}

void Recorder::allocation(std::uint64_t id, CUdeviceptr address, std::size_t bytes, std::size_t reserved,
                          int device, bool stream_ordered, bool movable, bool captured) {
  trace::AllocationRecord record;
  record.time_ns = trace::SpoolWriter::now_ns();
  record.allocation = id;
  record.address = address;
  record.bytes = static_cast<std::int64_t>(bytes);
  record.reserved_bytes = static_cast<std::int64_t>(reserved);
  record.thread = thread_id();
  record.device = device;
  record.kind = trace::MemoryKind::kDevice;
  record.api = stream_ordered ? trace::AllocationApi::kAllocAsync : trace::AllocationApi::kAlloc;
  record.movable = movable ? 1 : 0;
  record.captured = captured ? 1 : 0;
  spool_->append(record);
}

void Recorder::other_allocation(std::uint64_t id, trace::AllocationApi api, trace::MemoryKind kind,
                                int numa_node, std::uint64_t address, std::size_t bytes, int device) {
  trace::AllocationRecord record;
  record.time_ns = trace::SpoolWriter::now_ns();
  record.allocation = id;
  record.address = address;
  record.bytes = static_cast<std::int64_t>(bytes);
  record.reserved_bytes = record.bytes;
  record.thread = thread_id();
  record.device = device;
  record.kind = kind;
  if (numa_node >= 0) record.numa_node_and_one = static_cast<std::uint16_t>(numa_node + 1);
  record.api = api;
  spool_->append(record);
}

void Recorder::free(std::uint64_t id) {
  trace::FreeRecord record;
  record.time_ns = trace::SpoolWriter::now_ns();
  record.allocation = id;
  record.thread = thread_id();
  spool_->append(record);
}

void Recorder::pool_operation(trace::PoolOperationRecord call) {
  call.thread = thread_id();
  spool_->append(call);
}

trace::StringId Recorder::name_of(const cuda::FunctionInfo* function) {
  if (function == nullptr) return 0;
  const auto [known, inserted] = names_.try_emplace(function, 0);
  if (inserted) known->second = spool_->intern(function->name);
  return known->second;
}

void Recorder::operation(const OperationDetails& details, CUstream stream, Sequence sequence, int device,
                         bool captured, std::int64_t fetched, std::int64_t parked) {
  ++operations_;
  const std::int64_t now = trace::SpoolWriter::now_ns();
  const std::int64_t waited = details.ready_ns - details.begin_ns;
  const auto fill = [&](auto& record) {
    record.time_ns = details.begin_ns;
    record.return_ns = now;
    record.operation = operations_;
    record.stream = handle_of(stream);
    record.sequence = sequence;
    record.wait_ns = waited;
    record.thread = thread_id();
    record.device = device;
  };
  switch (details.kind) {
    case OperationDetails::Kind::kLaunch: {
      trace::KernelLaunchRecord record;
      fill(record);
      record.name = name_of(details.function);
      record.grid = details.grid;
      record.block = details.block;
      record.shared_bytes = details.shared_bytes;
      record.captured = captured ? 1 : 0;
      spool_->append(record);
      break;
    }
    case OperationDetails::Kind::kCopy: {
      trace::MemcpyCallRecord record;
      fill(record);
      record.destination = details.destination;
      record.source = details.source;
      record.bytes = details.bytes;
      record.kind = details.copy;
      record.asynchronous = details.asynchronous ? 1 : 0;
      record.captured = captured ? 1 : 0;
      spool_->append(record);
      break;
    }
    case OperationDetails::Kind::kSet: {
      trace::MemsetCallRecord record;
      fill(record);
      record.address = details.destination;
      record.bytes = details.bytes;
      record.value = details.value;
      record.captured = captured ? 1 : 0;
      spool_->append(record);
      break;
    }
    case OperationDetails::Kind::kGraph: {
      trace::GraphLaunchRecord record;
      fill(record);
      record.graph = details.graph;
      spool_->append(record);
      break;
    }
    case OperationDetails::Kind::kOther:
      break;
  }
  if (!details.accesses.empty()) spool_->append_accesses(details.begin_ns, operations_, details.accesses);
  if (fetched > 0 || parked > 0)
    gate(operations_, details.begin_ns, details.ready_ns, device, fetched, parked);
  if (details.homed_to_ns > 0)
    gate(operations_, details.homed_from_ns, details.homed_to_ns, device, 0, details.homed_bytes, false);
}

void Recorder::gate(std::uint64_t operation, std::int64_t start_ns, std::int64_t end_ns, int device,
                    std::int64_t fetched, std::int64_t parked, bool on_gpu) {
  trace::GateRecord record;
  record.time_ns = start_ns;
  record.end_ns = end_ns;
  record.operation = operation;
  record.fetch_bytes = fetched;
  record.room_bytes = parked;
  record.device = device;
  record.on_gpu = on_gpu ? 1 : 0;
  spool_->append(record);
}

void Recorder::activity_stream(CUstream stream, int device, std::uint32_t id, trace::StreamOwner owner) {
  trace::StreamRecord record;
  record.time_ns = 1;  // of all times: calls were made before
  record.handle = handle_of(stream);
  record.context_id = static_cast<std::uint32_t>(device) + 1;
  record.stream_id = id;
  record.device = device;
  record.owner = owner;
  spool_->append(record);
}

void Recorder::activity(const OperationDetails& details, const ActivityTimes& times) {
  const auto fill = [&](auto& record) {
    record.time_ns = times.start_ns;
    record.end_ns = times.end_ns;
    record.correlation_id = times.correlation;
    record.context_id = static_cast<std::uint32_t>(times.device) + 1;
    record.stream_id = times.stream;
    record.device = times.device;
    spool_->append(record);
  };
  if (details.kind == OperationDetails::Kind::kLaunch) {
    trace::KernelActivityRecord record;
    record.name = name_of(details.function);
    record.grid = details.grid;
    record.block = details.block;
    record.dynamic_shared_bytes = details.shared_bytes;
    fill(record);
  } else if (details.kind == OperationDetails::Kind::kCopy) {
    trace::MemcpyActivityRecord record;
    record.bytes = details.bytes;
    record.kind = details.copy;
    record.asynchronous = details.asynchronous ? 1 : 0;
    fill(record);
  } else if (details.kind == OperationDetails::Kind::kSet) {
    trace::MemsetActivityRecord record;
    record.bytes = details.bytes;
    record.value = details.value;
    fill(record);
  }
}

void Recorder::transfer(trace::TransferKind kind, const Block& block, std::uint32_t first_piece,
                        std::int64_t bytes, std::size_t chunk_size, CUstream stream, std::uint64_t sequence,
                        std::int64_t submit_ns, bool ahead) {
  trace::TransferRecord record;
  record.time_ns = submit_ns;
  record.allocation = block.buffer_id;
  record.operation = ahead ? 0 : next_operation();
  record.offset = static_cast<std::int64_t>(first_piece * chunk_size);
  record.bytes = bytes;
  record.stream = handle_of(stream);
  record.sequence = sequence;
  record.device = block.device;
  record.kind = kind;
  spool_->append(record);
}

}  // namespace tferry::runtime
