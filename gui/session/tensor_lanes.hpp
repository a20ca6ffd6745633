#pragma once

#include "gui/session/lane.hpp"
#include "gui/time/time_map.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace tferry::gui {

/// What an item of a tensor's lane is, as its tone.
enum class TensorTone : std::uint8_t { kAlive, kParked, kUsed };

/// Lanes of the largest tensors of each process and GPU: created, used, parked, fetched, died. None before an
/// analysis has matched tensors. Throws trace::SessionError.
std::vector<Lane> tensor_lanes(trace::Session& session);

/// The life of one of them in a range: row 0 where its contents are, row 1 what used it. In order of start.
/// Throws trace::SessionError.
void read_tensor(trace::Session& session, const Lane& lane, TimeRange range, std::int64_t session_end_ns,
                 const std::function<void(const Item&)>& add);

}  // namespace tferry::gui
