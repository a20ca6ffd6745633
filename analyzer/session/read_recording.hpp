#pragma once

#include "analyzer/tensors/recording.hpp"
#include "trace/record_enums.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// What one process did on one GPU, with the rows that it came from.
struct SessionRecording {
  std::int64_t process_id = 0;
  std::int64_t device_id = 0;
  Recording recording;
  enum class Kind : std::uint8_t { kKernel, kMemcpy, kMemset, kGraph };
  struct Source {
    Kind kind = Kind::kKernel;
    std::int64_t row_id = 0;  ///< in the table of that name; 0 of graphs and where there is none
    std::int64_t name_id = 0, stream_id = 0;  ///< 0: unknown
    std::uint64_t identity = 0;  ///< what it is known by in another run: a trace::OperationSignature
  };
  std::vector<Source> sources;        ///< of each operation
  bool hooked = false;                ///< calls were recorded: accesses and allocations can be known
  std::int64_t without_call = 0;      ///< records of the GPU that no recorded call asked for, left out
  std::int64_t unknown_accesses = 0;  ///< to allocations that were not recorded
};

/// "kernel", "memcpy", "memset", "graph".
const char* kind_name(SessionRecording::Kind kind);

/// One entry for each process and GPU on which it did something, by process, then device. The runtime's own
/// transfers are left out. Reads each table once; ten million events take about 1 GB. Without hooks the order
/// is that of the GPU's start times, and there are no accesses. Throws trace::SessionError when the file
/// turns out to be damaged.
std::vector<SessionRecording> read_recordings(trace::Session& session);

/// What an access is to a whole tensor: `whole` tells whether all of it is touched.
AccessKind access_kind(trace::AccessKind kind, bool whole);

/// Rates of the link of a GPU as the session knows them, else those assumed; `known_by` says which.
LinkRates link_rates(trace::Session& session, std::int64_t device_id, std::string* known_by);

}  // namespace tferry::analyzer
