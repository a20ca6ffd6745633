#pragma once

#include "trace/record_enums.hpp"
#include "trace/session_column.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tferry::trace {

// Rows about the job and its machine: processes, devices, links, streams, names, and what the recording
// lacks. Times are int64 nanoseconds of the session's clock (CLOCK_MONOTONIC of the host), sizes int64 bytes;
// X_id names a row of table X; an empty optional is NULL and means unknown. The columns are an interface;
// docs/schema.md tells them all.

/// Facts about the session itself: one key, one value.
struct MetaRow {
  static constexpr const char* kTable = "meta";
  std::string key = {};
  std::string value = {};

  template <typename Row = MetaRow>
  static constexpr auto columns() {
    return std::tuple{Column{"key", &Row::key}, Column{"value", &Row::value}};
  }
};

/// What the numbers in enumerated columns mean.
struct EnumerationRow {
  static constexpr const char* kTable = "enumeration";
  std::string name = {};  ///< such as "copy_kind"
  std::int64_t value = 0;
  std::string label = {};

  template <typename Row = EnumerationRow>
  static constexpr auto columns() {
    return std::tuple{Column{"name", &Row::name}, Column{"value", &Row::value}, Column{"label", &Row::label}};
  }
};

/// Interned names.
struct StringRow {
  static constexpr const char* kTable = "string";
  std::int64_t id = 0;
  std::string value = {};

  template <typename Row = StringRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id}, Column{"value", &Row::value}};
  }
};

/// One process of the job.
struct ProcessRow {
  static constexpr const char* kTable = "process";
  std::int64_t id = 0;
  std::int64_t pid = 0;
  std::optional<std::int64_t> parent_pid = {};
  std::optional<std::int64_t> rank = {};        ///< in the whole job
  std::optional<std::int64_t> local_rank = {};  ///< on its host
  std::optional<std::int64_t> world_size = {};
  std::optional<std::string> host = {};
  std::optional<std::string> command = {};          ///< secrets masked; never the environment
  std::optional<std::int64_t> driver_version = {};  ///< 13000 is 13.0
  std::optional<std::int64_t> start_ns = {};
  std::optional<std::int64_t> end_ns = {};
  std::optional<std::int64_t> start_realtime_ns = {};  ///< CLOCK_REALTIME at start_ns, aligns hosts
  std::optional<std::int64_t> clock_error_ns = {};     ///< of that alignment

  template <typename Row = ProcessRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"pid", &Row::pid},
                      Column{"parent_pid", &Row::parent_pid},
                      Column{"rank", &Row::rank},
                      Column{"local_rank", &Row::local_rank},
                      Column{"world_size", &Row::world_size},
                      Column{"host", &Row::host},
                      Column{"command", &Row::command},
                      Column{"driver_version", &Row::driver_version},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"start_realtime_ns", &Row::start_realtime_ns},
                      Column{"clock_error_ns", &Row::clock_error_ns}};
  }
};

/// One GPU of one host.
struct DeviceRow {
  static constexpr const char* kTable = "device";
  std::int64_t id = 0;
  std::string uuid = {};
  std::optional<std::string> host = {};
  std::optional<std::string> name = {};
  std::optional<std::string> pci_address = {};  ///< 0000:19:00.0
  std::optional<std::int64_t> memory_bytes = {};
  std::optional<std::int64_t> multiprocessors = {};
  std::optional<std::string> compute_capability = {};  ///< 9.0
  std::optional<std::int64_t> copy_engines = {};
  std::optional<std::int64_t> pcie_generation = {};
  std::optional<std::int64_t> pcie_width = {};
  std::optional<std::int64_t> numa_node = {};
  std::optional<std::int64_t> budget_bytes = {};  ///< of the recording, NULL: none

  template <typename Row = DeviceRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"uuid", &Row::uuid},
                      Column{"host", &Row::host},
                      Column{"name", &Row::name},
                      Column{"pci_address", &Row::pci_address},
                      Column{"memory_bytes", &Row::memory_bytes},
                      Column{"multiprocessors", &Row::multiprocessors},
                      Column{"compute_capability", &Row::compute_capability},
                      Column{"copy_engines", &Row::copy_engines},
                      Column{"pcie_generation", &Row::pcie_generation},
                      Column{"pcie_width", &Row::pcie_width},
                      Column{"numa_node", &Row::numa_node},
                      Column{"budget_bytes", &Row::budget_bytes}};
  }
};

/// How a process numbers the GPUs.
struct ProcessDeviceRow {
  static constexpr const char* kTable = "process_device";
  std::int64_t process_id = 0;
  std::int64_t ordinal = 0;
  std::int64_t device_id = 0;

  template <typename Row = ProcessDeviceRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id}, Column{"ordinal", &Row::ordinal},
                      Column{"device_id", &Row::device_id}};
  }
};

/// One edge of the tree of links, with its capacities.
struct LinkRow {
  static constexpr const char* kTable = "link";
  std::int64_t id = 0;
  std::optional<std::int64_t> parent_id = {};  ///< towards the host
  std::string kind = {};                       ///< pcie, nvlink, host
  std::string upstream = {};                   ///< bus address or node nearer to the host
  std::string downstream = {};
  std::optional<std::int64_t> device_id = {};       ///< where the edge ends at a GPU
  std::optional<double> h2d_bytes_per_second = {};  ///< alone
  std::optional<double> d2h_bytes_per_second = {};
  std::optional<double> duplex_h2d_bytes_per_second = {};  ///< both ways at once
  std::optional<double> duplex_d2h_bytes_per_second = {};
  std::string known_by = {};                         ///< measured, learned, assumed or unknown
  std::optional<std::int64_t> pcie_generation = {};  ///< as it ran
  std::optional<std::int64_t> pcie_width = {};
  std::optional<std::int64_t> pcie_generation_most = {};  ///< that both ends can do
  std::optional<std::int64_t> pcie_width_most = {};
  std::optional<std::int64_t> numa_node = {};  ///< of the lower end

  template <typename Row = LinkRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"parent_id", &Row::parent_id},
                      Column{"kind", &Row::kind},
                      Column{"upstream", &Row::upstream},
                      Column{"downstream", &Row::downstream},
                      Column{"device_id", &Row::device_id},
                      Column{"h2d_bytes_per_second", &Row::h2d_bytes_per_second},
                      Column{"d2h_bytes_per_second", &Row::d2h_bytes_per_second},
                      Column{"duplex_h2d_bytes_per_second", &Row::duplex_h2d_bytes_per_second},
                      Column{"duplex_d2h_bytes_per_second", &Row::duplex_d2h_bytes_per_second},
                      Column{"known_by", &Row::known_by},
                      Column{"pcie_generation", &Row::pcie_generation},
                      Column{"pcie_width", &Row::pcie_width},
                      Column{"pcie_generation_most", &Row::pcie_generation_most},
                      Column{"pcie_width_most", &Row::pcie_width_most},
                      Column{"numa_node", &Row::numa_node}};
  }
};

/// One CUDA stream.
struct StreamRow {
  static constexpr const char* kTable = "stream";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> device_id = {};
  std::optional<std::int64_t> context_id = {};  ///< CUPTI's
  std::optional<std::int64_t> cupti_stream_id = {};
  std::optional<std::int64_t> handle = {};  ///< CUstream
  std::optional<std::int64_t> priority = {};
  StreamOwner owner = StreamOwner::kUnknown;

  template <typename Row = StreamRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"device_id", &Row::device_id},
                      Column{"context_id", &Row::context_id},
                      Column{"cupti_stream_id", &Row::cupti_stream_id},
                      Column{"handle", &Row::handle},
                      Column{"priority", &Row::priority},
                      Column{"owner", &Row::owner}};
  }
};

/// One NVTX range or mark.
struct MarkerRow {
  static constexpr const char* kTable = "marker";
  std::int64_t id = 0;
  std::int64_t process_id = 0;
  std::optional<std::int64_t> thread = {};
  MarkerKind kind = MarkerKind::kUnknown;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns = {};
  std::int64_t name_id = 0;
  std::optional<std::int64_t> domain_id = {};  ///< string.id

  template <typename Row = MarkerRow>
  static constexpr auto columns() {
    return std::tuple{Column{"id", &Row::id},
                      Column{"process_id", &Row::process_id},
                      Column{"thread", &Row::thread},
                      Column{"kind", &Row::kind},
                      Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns},
                      Column{"name_id", &Row::name_id},
                      Column{"domain_id", &Row::domain_id}};
  }
};

/// Time that the recording itself took.
struct OverheadRow {
  static constexpr const char* kTable = "overhead";
  std::int64_t process_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string what = {};
  std::optional<std::int64_t> thread = {};

  template <typename Row = OverheadRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id}, Column{"start_ns", &Row::start_ns},
                      Column{"end_ns", &Row::end_ns}, Column{"what", &Row::what},
                      Column{"thread", &Row::thread}};
  }
};

/// What is missing from the recording, and why.
struct LossRow {
  static constexpr const char* kTable = "loss";
  std::optional<std::int64_t> process_id = {};
  std::string what = {};  ///< a kind of record
  std::string reason = {};
  std::optional<std::int64_t> count = {};  ///< NULL: unknown how many
  std::optional<std::int64_t> first_ns = {};
  std::optional<std::int64_t> last_ns = {};
  std::optional<std::string> detail = {};

  template <typename Row = LossRow>
  static constexpr auto columns() {
    return std::tuple{Column{"process_id", &Row::process_id}, Column{"what", &Row::what},
                      Column{"reason", &Row::reason},         Column{"count", &Row::count},
                      Column{"first_ns", &Row::first_ns},     Column{"last_ns", &Row::last_ns},
                      Column{"detail", &Row::detail}};
  }
};

}  // namespace tferry::trace
