#pragma once

#include "gui/session/gpu_time.hpp"
#include "gui/session/lane.hpp"
#include "gui/session/search.hpp"
#include "gui/time/time_map.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace tferry::gui {

/// What an item of a tensor's lane is, as its tone.
enum class TensorTone : std::uint8_t { kAlive, kParked, kUsed };

/// So many tensors of each process and GPU have a lane: all but in the strangest sessions.
inline constexpr std::int64_t kMostTensorLanes = 20'000;

/// Lanes of the tensors of each process and GPU, largest first: created, used, parked, fetched, died. Named
/// as the program does (table allocation_name), else as the analysis does. None before an analysis has
/// matched tensors. Throws trace::SessionError.
std::vector<Lane> tensor_lanes(trace::Session& session);

/// The next (step 1) or previous (-1) kernel that uses the tensor of a lane. Throws trace::SessionError.
FoundEvent next_use(trace::Session& session, const Lane& lane, int index, std::int64_t time, int step);

/// The life of one of them in a range: row 0 where its contents are, row 1 what used it. In order of start.
/// Throws trace::SessionError.
void read_tensor(trace::Session& session, const Lane& lane, const GpuTime& time, TimeRange range,
                 std::int64_t session_end_ns, const std::function<void(const Item&)>& add);

}  // namespace tferry::gui
