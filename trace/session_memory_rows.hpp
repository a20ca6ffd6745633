#pragma once

#include "trace/record_enums.hpp"
#include "trace/session_column.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tferry::trace {

// Rows about the program's memory and the runtime's own movements of it.
// Times are int64 nanoseconds of the session's clock (CLOCK_MONOTONIC of the host), sizes int64 bytes; X_id
// names a row of table X; an empty optional is NULL and means unknown. The columns are an interface;
// docs/schema.md tells them all.

/// One allocation, from its call to its free.
struct AllocationRow {
  static constexpr const char* kTable = "allocation";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::int64_t allocation = 0;  ///< its number in the process
  std::int64_t address = 0;
  std::int64_t bytes = 0;           ///< as asked for
  std::int64_t reserved_bytes = 0;  ///< as the budget counts it
  MemoryKind memory_kind = MemoryKind::kUnknown;
  AllocationApi api = AllocationApi::kUnknown;
  std::int64_t alloc_ns = 0;
  std::optional<std::int64_t> free_ns = {};    ///< NULL: alive at the end
  std::optional<std::int64_t> stream_id = {};  ///< stream-ordered allocations
  std::optional<std::int64_t> thread = {};
  std::int64_t movable = 0;
  std::int64_t captured = 0;
  std::optional<std::int64_t> numa_node = {};  ///< of memory of the host

  template <typename Row = AllocationRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"allocation", &Row::allocation},
                      Column{"address", &Row::address},
                      Column{"bytes", &Row::bytes},
                      Column{"reserved_bytes", &Row::reserved_bytes},
                      Column{"memory_kind", &Row::memory_kind},
                      Column{"api", &Row::api},
                      Column{"alloc_ns", &Row::alloc_ns},
                      Column{"free_ns", &Row::free_ns},
                      Column{"stream_id", &Row::stream_id},
                      Column{"thread", &Row::thread},
                      Column{"movable", &Row::movable},
                      Column{"captured", &Row::captured},
                      Column{"numa_node", &Row::numa_node}};
  }
};

/// One call about a pool of memory: all but allocations from it.
struct PoolOperationRow {
  static constexpr const char* kTable = "pool_operation";
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};  ///< of the pool, where the call names it
  std::optional<std::int64_t> thread = {};
  PoolOperationKind kind = PoolOperationKind::kUnknown;
  std::int64_t pool = 0;                       ///< CUmemoryPool
  std::optional<std::int64_t> attribute = {};  ///< CUmemPool_attribute
  std::optional<std::int64_t> value = {};      ///< of the attribute; trims: bytes that stay
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns = {};

  template <typename Row = PoolOperationRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"thread", &Row::thread},
                      Column{"kind", &Row::kind},
                      Column{"pool", &Row::pool},
                      Column{"attribute", &Row::attribute},
                      Column{"value", &Row::value},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns}};
  }
};

/// What an operation may do to an allocation.
struct AccessRow {
  static constexpr const char* kTable = "access";
  std::int64_t process_id = 0;
  std::int64_t operation = 0;
  std::optional<std::int64_t> allocation_id = {};  ///< NULL: its allocation was not recorded
  std::int64_t offset = 0;                         ///< of the address seen, into the allocation
  std::optional<std::int64_t> bytes = {};          ///< NULL: extent unknown
  AccessKind kind = AccessKind::kUnknown;
  KnownBy known_by = KnownBy::kUnknown;
  std::optional<std::int64_t> argument_offset = {};  ///< into the launch arguments

  template <typename Row = AccessRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id},
                      Column{"operation", &Row::operation},
                      Column{"allocation_id", &Row::allocation_id},
                      Column{"offset", &Row::offset},
                      Column{"bytes", &Row::bytes},
                      Column{"kind", &Row::kind},
                      Column{"known_by", &Row::known_by},
                      Column{"argument_offset", &Row::argument_offset}};
  }
};

/// One movement of the runtime's own, in one piece.
struct SwapRow {
  static constexpr const char* kTable = "swap";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  TransferKind kind = TransferKind::kUnknown;
  std::optional<std::int64_t> allocation_id = {};
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::optional<std::int64_t> operation = {};  ///< on whose behalf, NULL: ahead of need
  std::int64_t submit_ns = 0;
  std::optional<std::int64_t> wait_ns = {};    ///< of the submitting thread
  std::optional<std::int64_t> memcpy_id = {};  ///< the copy that did it

  template <typename Row = SwapRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"kind", &Row::kind},
                      Column{"allocation_id", &Row::allocation_id},
                      Column{"offset", &Row::offset},
                      Column{"bytes", &Row::bytes},
                      Column{"operation", &Row::operation},
                      Column{"submit_ns", &Row::submit_ns},
                      Column{"wait_ns", &Row::wait_ns},
                      Column{"memcpy_id", &Row::memcpy_id}};
  }
};

/// One operation that had to wait for memory.
struct GateRow {
  static constexpr const char* kTable = "gate";
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::int64_t operation = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t fetch_bytes = 0;
  std::int64_t room_bytes = 0;
  std::int64_t on_gpu = 0;  ///< 1: the stream waited, 0: only the thread

  template <typename Row = GateRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id}, Column{"device_id", &Row::device_id},
                      Column{"operation", &Row::operation},   Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},         Column{"fetch_bytes", &Row::fetch_bytes},
                      Column{"room_bytes", &Row::room_bytes}, Column{"on_gpu", &Row::on_gpu}};
  }
};

/// What the program calls the contents of an allocation.
struct AllocationNameRow {
  static constexpr const char* kTable = "allocation_name";
  std::int64_t allocation_id = 0;
  std::string name = {};
  std::optional<std::string> category = {};  ///< weight, gradient, optimizer, activation, input
  std::string source = {};                   ///< nvtx, pytorch

  template <typename Row = AllocationNameRow>
  static constexpr auto columns() {
    return std::tuple{Column{"allocation_id", &Row::allocation_id}, Column{"name", &Row::name},
                      Column{"category", &Row::category}, Column{"source", &Row::source}};
  }
};

}  // namespace tferry::trace
