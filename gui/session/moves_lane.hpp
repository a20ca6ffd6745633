#pragma once

#include "gui/session/lane.hpp"
#include "gui/time/time_map.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace tferry::gui {

/// Movements are two rows of their lane: what leaves the GPU, and what comes.
inline constexpr int kMoveRows = 2;

/// What the runtime moved, in order of start. A fetch that an operation waited for is late by the time from
/// when the operation stood ready (table `gate`) until its bytes were there: the operation on whose behalf it
/// was, or one that waited meanwhile and touches the same allocation. Throws trace::SessionError.
void read_moves(
    trace::Session& session, TimeRange submitted,
    const std::function<void(std::int64_t process_id, std::int64_t device_id, const Item& item)>& add);

/// Of one movement (table `swap`): by how much it was late, 0 if it was not.
std::int64_t late_ns(trace::Session& session, std::int64_t swap_id);

/// One movement, with the time that was lost by it alone: an operation that waits for several fetches loses
/// to each what passes between the one before it and its own end.
struct MoveLoss {
  trace::TransferKind kind = trace::TransferKind::kUnknown;
  std::int64_t allocation_id = 0;  ///< 0: unknown
  std::int64_t bytes = 0;
  std::int64_t late_ns = 0;
  std::int64_t lost_ns = 0;
};

/// Calls `add` for each movement that an SQL condition on table `swap` names. Returns the time of all waits
/// that an SQL condition on table `gate` names and none of these explains: for room, or for the order of
/// operations. Throws trace::SessionError.
std::int64_t read_move_losses(trace::Session& session, const std::string& of_swaps,
                              const std::string& of_gates, const std::function<void(const MoveLoss&)>& add);

}  // namespace tferry::gui
