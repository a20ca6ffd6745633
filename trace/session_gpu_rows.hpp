#pragma once

#include "trace/record_enums.hpp"
#include "trace/session_column.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tferry::trace {

// Rows about what the GPUs did.
// Times are int64 nanoseconds of the session's clock (CLOCK_MONOTONIC of the host), sizes int64 bytes; X_id
// names a row of table X; an empty optional is NULL and means unknown. The columns are an interface;
// docs/schema.md tells them all.

/// One kernel.
struct KernelRow {
  static constexpr const char* kTable = "kernel";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::optional<std::int64_t> stream_id = {};  ///< stream.id
  std::optional<std::int64_t> start_ns = {};  ///< on the GPU; NULL: asked for, but no record says when it ran
  std::optional<std::int64_t> end_ns = {};    ///< NULL with a start: still running when the recording stopped
  std::optional<std::int64_t> name_id = {};   ///< string.id, mangled
  std::int64_t grid_x = 0;
  std::int64_t grid_y = 0;
  std::int64_t grid_z = 0;
  std::int64_t block_x = 0;
  std::int64_t block_y = 0;
  std::int64_t block_z = 0;
  std::optional<std::int64_t> registers = {};  ///< per thread
  std::optional<std::int64_t> static_shared_bytes = {};
  std::optional<std::int64_t> dynamic_shared_bytes = {};
  std::optional<std::int64_t> correlation_id = {};
  std::optional<std::int64_t> graph_id = {};
  std::optional<std::int64_t> graph_node_id = {};
  std::optional<std::int64_t> operation = {};  ///< number among the process's operations
  std::optional<std::int64_t> call_ns = {};    ///< call entered, on the host
  std::optional<std::int64_t> return_ns = {};  ///< call returned
  std::optional<std::int64_t> wait_ns = {};    ///< of the call: spent waiting for the runtime's own work
  std::optional<std::int64_t> thread = {};     ///< of the call
  StreamOwner owner = StreamOwner::kUnknown;   ///< the program's, or the runtime's own

  template <typename Row = KernelRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"stream_id", &Row::stream_id},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"name_id", &Row::name_id},
                      Column{"grid_x", &Row::grid_x},
                      Column{"grid_y", &Row::grid_y},
                      Column{"grid_z", &Row::grid_z},
                      Column{"block_x", &Row::block_x},
                      Column{"block_y", &Row::block_y},
                      Column{"block_z", &Row::block_z},
                      Column{"registers", &Row::registers},
                      Column{"static_shared_bytes", &Row::static_shared_bytes},
                      Column{"dynamic_shared_bytes", &Row::dynamic_shared_bytes},
                      Column{"correlation_id", &Row::correlation_id},
                      Column{"graph_id", &Row::graph_id},
                      Column{"graph_node_id", &Row::graph_node_id},
                      Column{"operation", &Row::operation},
                      Column{"call_ns", &Row::call_ns},
                      Column{"return_ns", &Row::return_ns},
                      Column{"wait_ns", &Row::wait_ns},
                      Column{"thread", &Row::thread},
                      Column{"owner", &Row::owner}};
  }
};

/// One copy.
struct MemcpyRow {
  static constexpr const char* kTable = "memcpy";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::optional<std::int64_t> stream_id = {};  ///< stream.id
  std::optional<std::int64_t> start_ns = {};  ///< on the GPU; NULL: asked for, but no record says when it ran
  std::optional<std::int64_t> end_ns = {};    ///< NULL with a start: still running when the recording stopped
  std::int64_t bytes = 0;
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source_kind = MemoryKind::kUnknown;
  MemoryKind destination_kind = MemoryKind::kUnknown;
  std::optional<std::int64_t> source_device_id = {};       ///< peer copies
  std::optional<std::int64_t> destination_device_id = {};  ///< peer copies
  std::optional<std::int64_t> source_address = {};
  std::optional<std::int64_t> destination_address = {};
  std::optional<std::int64_t> asynchronous = {};
  std::optional<std::int64_t> channel = {};  ///< hardware channel: tells copy engines apart
  std::optional<std::int64_t> correlation_id = {};
  std::optional<std::int64_t> graph_id = {};
  std::optional<std::int64_t> graph_node_id = {};
  std::optional<std::int64_t> operation = {};  ///< number among the process's operations
  std::optional<std::int64_t> call_ns = {};    ///< call entered, on the host
  std::optional<std::int64_t> return_ns = {};  ///< call returned
  std::optional<std::int64_t> wait_ns = {};    ///< of the call: spent waiting for the runtime's own work
  std::optional<std::int64_t> thread = {};     ///< of the call
  StreamOwner owner = StreamOwner::kUnknown;   ///< the program's, or the runtime's own

  template <typename Row = MemcpyRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"stream_id", &Row::stream_id},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"bytes", &Row::bytes},
                      Column{"kind", &Row::kind},
                      Column{"source_kind", &Row::source_kind},
                      Column{"destination_kind", &Row::destination_kind},
                      Column{"source_device_id", &Row::source_device_id},
                      Column{"destination_device_id", &Row::destination_device_id},
                      Column{"source_address", &Row::source_address},
                      Column{"destination_address", &Row::destination_address},
                      Column{"asynchronous", &Row::asynchronous},
                      Column{"channel", &Row::channel},
                      Column{"correlation_id", &Row::correlation_id},
                      Column{"graph_id", &Row::graph_id},
                      Column{"graph_node_id", &Row::graph_node_id},
                      Column{"operation", &Row::operation},
                      Column{"call_ns", &Row::call_ns},
                      Column{"return_ns", &Row::return_ns},
                      Column{"wait_ns", &Row::wait_ns},
                      Column{"thread", &Row::thread},
                      Column{"owner", &Row::owner}};
  }
};

/// One memset.
struct MemsetRow {
  static constexpr const char* kTable = "memset";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::optional<std::int64_t> stream_id = {};  ///< stream.id
  std::optional<std::int64_t> start_ns = {};  ///< on the GPU; NULL: asked for, but no record says when it ran
  std::optional<std::int64_t> end_ns = {};    ///< NULL with a start: still running when the recording stopped
  std::int64_t bytes = 0;
  std::optional<std::int64_t> value = {};
  MemoryKind memory_kind = MemoryKind::kUnknown;
  std::optional<std::int64_t> address = {};
  std::optional<std::int64_t> correlation_id = {};
  std::optional<std::int64_t> graph_id = {};
  std::optional<std::int64_t> graph_node_id = {};
  std::optional<std::int64_t> operation = {};  ///< number among the process's operations
  std::optional<std::int64_t> call_ns = {};    ///< call entered, on the host
  std::optional<std::int64_t> return_ns = {};  ///< call returned
  std::optional<std::int64_t> wait_ns = {};    ///< of the call: spent waiting for the runtime's own work
  std::optional<std::int64_t> thread = {};     ///< of the call
  StreamOwner owner = StreamOwner::kUnknown;   ///< the program's, or the runtime's own

  template <typename Row = MemsetRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"stream_id", &Row::stream_id},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"bytes", &Row::bytes},
                      Column{"value", &Row::value},
                      Column{"memory_kind", &Row::memory_kind},
                      Column{"address", &Row::address},
                      Column{"correlation_id", &Row::correlation_id},
                      Column{"graph_id", &Row::graph_id},
                      Column{"graph_node_id", &Row::graph_node_id},
                      Column{"operation", &Row::operation},
                      Column{"call_ns", &Row::call_ns},
                      Column{"return_ns", &Row::return_ns},
                      Column{"wait_ns", &Row::wait_ns},
                      Column{"thread", &Row::thread},
                      Column{"owner", &Row::owner}};
  }
};

/// One launch of a CUDA graph; its kernels and copies have its operation.
struct GraphLaunchRow {
  static constexpr const char* kTable = "graph_launch";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::optional<std::int64_t> stream_id = {};
  std::optional<std::int64_t> graph = {};  ///< CUgraphExec
  std::optional<std::int64_t> correlation_id = {};
  std::int64_t operation = 0;
  std::int64_t call_ns = 0;
  std::optional<std::int64_t> return_ns = {};
  std::optional<std::int64_t> wait_ns = {};
  std::optional<std::int64_t> thread = {};

  template <typename Row = GraphLaunchRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"stream_id", &Row::stream_id},
                      Column{"graph", &Row::graph},
                      Column{"correlation_id", &Row::correlation_id},
                      Column{"operation", &Row::operation},
                      Column{"call_ns", &Row::call_ns},
                      Column{"return_ns", &Row::return_ns},
                      Column{"wait_ns", &Row::wait_ns},
                      Column{"thread", &Row::thread}};
  }
};

/// One unified-memory event.
struct UmEventRow {
  static constexpr const char* kTable = "um_event";
  std::int64_t process_id = 0;
  UmEventKind kind = UmEventKind::kUnknown;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns = {};
  std::optional<std::int64_t> address = {};
  std::optional<std::int64_t> bytes = {};                  ///< migrations
  std::optional<std::int64_t> count = {};                  ///< fault groups
  std::optional<std::int64_t> source_device_id = {};       ///< NULL: host
  std::optional<std::int64_t> destination_device_id = {};  ///< NULL: host
  std::optional<std::int64_t> cause = {};

  template <typename Row = UmEventRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id},
                      Column{"kind", &Row::kind},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"address", &Row::address},
                      Column{"bytes", &Row::bytes},
                      Column{"count", &Row::count},
                      Column{"source_device_id", &Row::source_device_id},
                      Column{"destination_device_id", &Row::destination_device_id},
                      Column{"cause", &Row::cause}};
  }
};

/// One sample of a hardware counter.
struct CounterRow {
  static constexpr const char* kTable = "counter";
  std::optional<std::int64_t> device_id = {};
  std::int64_t name_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double value = 0;  ///< over the interval

  template <typename Row = CounterRow>
  static constexpr auto columns() {
    return std::tuple{Column{"device_id", &Row::device_id}, Column{"name_id", &Row::name_id},
                      Column{"start_ns", &Row::start_ns}, Column{"end_ns", &Row::end_ns},
                      Column{"value", &Row::value}};
  }
};

/// One wait of the program for the GPU.
struct SyncRow {
  static constexpr const char* kTable = "sync";
  std::int64_t process_id = 0;
  std::optional<std::int64_t> stream_id = {};
  SyncKind kind = SyncKind::kUnknown;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns = {};
  std::optional<std::int64_t> correlation_id = {};
  std::optional<std::int64_t> thread = {};

  template <typename Row = SyncRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id},
                      Column{"stream_id", &Row::stream_id},
                      Column{"kind", &Row::kind},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"correlation_id", &Row::correlation_id},
                      Column{"thread", &Row::thread}};
  }
};

/// One call of the driver's or the runtime's API; recorded where `--api` asked for it.
struct ApiCallRow {
  static constexpr const char* kTable = "api_call";
  std::int64_t process_id = 0;
  std::optional<std::int64_t> thread = {};
  std::int64_t name_id = 0;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns = {};
  std::optional<std::int64_t> correlation_id = {};
  std::optional<std::int64_t> result = {};  ///< CUresult or cudaError_t

  template <typename Row = ApiCallRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id}, Column{"thread", &Row::thread},
                      Column{"name_id", &Row::name_id},       Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},         Column{"correlation_id", &Row::correlation_id},
                      Column{"result", &Row::result}};
  }
};

/// A part of the job that was recorded; with none, all of it was.
struct RecordedRangeRow {
  static constexpr const char* kTable = "recorded_range";
  std::int64_t process_id = 0;
  std::int64_t number = 0;  ///< from 0
  std::string what = {};    ///< as --range said it
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns = {};  ///< NULL: open when the recording stopped

  template <typename Row = RecordedRangeRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id}, Column{"number", &Row::number},
                      Column{"what", &Row::what}, Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns}};
  }
};

}  // namespace tferry::trace
