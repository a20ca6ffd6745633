#include "analyzer/placement/schedule_builder.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tferry::analyzer {
namespace {

/// One piece that leaves at the end of a presence and, if it is not the last one of its tensor's life,
/// returns for the next one.
struct Move {
  bool returns = true;
  std::uint32_t part = 0, piece = 0, presence = 0;
  std::uint32_t after = 0;     ///< operation of the first iteration
  std::uint32_t wanted = 0;    ///< ticks until the chunk's next tenant comes
  std::uint32_t earliest = 0;  ///< operations from the same iteration on
  std::uint32_t needed = 0;
  Predecessor last_tenant;  ///< of the chunk, before it returns
  std::uint32_t leave = 0, back = 0;
};

class Builder {
 public:
  Builder(const PlanWorkload& workload, const std::vector<Part>& parts, const Coloring& coloring,
          const SimulationOptions& options)
      : workload_(workload),
        parts_(parts),
        coloring_(coloring),
        options_(options),
        count_(static_cast<std::uint32_t>(workload.workload.operations.size())) {}

  BuiltSchedule build() {
    find_moves();
    make_leaves();
    make_returns();
    make_first_uses();
    return std::move(result_);
  }

 private:
  const ChunkLines& lines() const { return coloring_.lines; }
  std::uint32_t chunk(const Move& move) const { return coloring_.chunks[move.part][move.piece]; }
  const Presence& presence(const Tenancy& tenancy) const {
    return parts_[tenancy.part].presences[tenancy.presence];
  }

  /// The presence after one that ends by a leave.
  std::uint32_t next_presence(const Part& part, std::uint32_t presence) const {
    return (presence + 1) % static_cast<std::uint32_t>(part.presences.size());
  }
  bool returns(const Part& part, std::uint32_t presence) const {
    return workload_.workload.tensors[part.tensor].persistent || presence + 1 < part.presences.size();
  }

  void find_moves() {
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      for (std::uint32_t piece = 0; piece < parts_[p].count; ++piece) {
        for (std::uint32_t k = 0; k < parts_[p].presences.size(); ++k) {
          if (parts_[p].presences[k].leaves) consider(p, piece, k);
        }
      }
    }
  }

  void consider(std::uint32_t p, std::uint32_t piece, std::uint32_t k) {
    const Presence& goes = parts_[p].presences[k];
    Move move;
    move.returns = returns(parts_[p], k);
    move.part = p;
    move.piece = piece;
    move.presence = k;
    move.after = goes.left_after % count_;
    const Tenancy& next = *lines().after(chunk(move), goes.end);
    if (next.part == p && next.piece == piece) return;  // nobody in between
    move.wanted = lines().apart(goes.end, next.begin);
    if (move.returns) find_return(move, goes);
    moves_.push_back(move);
  }

  void find_return(Move& move, const Presence& goes) const {
    const Presence& comes = parts_[move.part].presences[next_presence(parts_[move.part], move.presence)];
    const Tenancy& last = *lines().before(chunk(move), comes.begin);
    move.needed = goes.left_after % count_ + operations_between(goes.left_after, comes.needed);
    // Around the iteration, from the operation after which it left.
    const std::uint32_t from = presence(last).free_from % count_;
    move.earliest = move.after + operations_between(goes.left_after, from);
    move.last_tenant = end_of(last, move.earliest);
  }

  /// From one operation to the next time that the other comes around, at least one.
  std::uint32_t operations_between(std::uint32_t from, std::uint32_t to) const {
    return (to % count_ + count_ - from % count_ - 1) % count_ + 1;
  }

  /// What has to be over for a tenancy to have ended whose chunk is free from operation `free` on, counted
  /// from the iteration of whoever waits.
  Predecessor end_of(const Tenancy& tenancy, std::int64_t free) const {
    const std::int64_t last = free - 1;
    const std::int64_t shift = last < 0 ? -((-last - 1) / count_) - 1 : last / count_;
    const auto operation = static_cast<std::uint32_t>(last - shift * count_);
    // Which transfer it is that takes it away is not known before all are made: its piece stands for it.
    return {presence(tenancy).leaves ? Predecessor::Kind::kLeave : Predecessor::Kind::kOperation, operation,
            static_cast<std::int32_t>(shift)};
  }

  using PieceEnd = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // part, piece, presence

  void make_leaves() {
    std::stable_sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
      return std::tie(a.after, a.wanted, a.part, a.piece) < std::tie(b.after, b.wanted, b.part, b.piece);
    });
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      Move& move = moves_[i];
      const bool joins = i > 0 && side_by_side(moves_[i - 1], move) && moves_[i - 1].after == move.after &&
                         has_room(result_.schedule.leaves.back());
      if (!joins) {
        result_.schedule.leaves.push_back({move.after, 0});
        result_.leaves.push_back(
            {move.after, parts_[move.part].tensor, parts_[move.part].first + move.piece, 0});
      }
      result_.schedule.leaves.back().bytes += workload_.chunk_bytes;
      ++result_.leaves.back().count;
      move.leave = static_cast<std::uint32_t>(result_.leaves.size() - 1);
      leave_of_[{move.part, move.piece, move.presence}] = move.leave;
    }
  }

  bool side_by_side(const Move& a, const Move& b) const {
    return a.part == b.part && a.presence == b.presence && a.piece + 1 == b.piece && chunk(a) + 1 == chunk(b);
  }

  template <typename Transfer>
  bool has_room(const Transfer& transfer) const {
    return transfer.bytes + workload_.chunk_bytes <= options_.chunk_bytes;
  }

  void make_returns() {
    std::stable_sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
      return std::tie(a.part, a.presence, a.piece) < std::tie(b.part, b.presence, b.piece);
    });
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      Move& move = moves_[i];
      if (!move.returns) continue;
      const bool joins = i > 0 && side_by_side(moves_[i - 1], move) &&
                         moves_[i - 1].earliest == move.earliest && has_room(result_.schedule.returns.back());
      if (!joins) {
        result_.schedule.returns.push_back({move.earliest, move.needed, 0, {}});
        result_.returns.push_back({0, parts_[move.part].tensor, parts_[move.part].first + move.piece, 0});
      }
      ReturnTransfer& transfer = result_.schedule.returns.back();
      transfer.bytes += workload_.chunk_bytes;
      ++result_.returns.back().count;
      add(transfer.after, {Predecessor::Kind::kLeave, move.leave, 0});
      const Presence& comes = parts_[move.part].presences[next_presence(parts_[move.part], move.presence)];
      add(transfer.after, resolved(move.last_tenant, *lines().before(chunk(move), comes.begin)));
    }
  }

  /// A leave is known by its transfer. What would leave for good before its own next allocation stays until
  /// it is freed: then its last use has to be over.
  Predecessor resolved(Predecessor predecessor, const Tenancy& tenancy) const {
    if (predecessor.kind != Predecessor::Kind::kLeave) return predecessor;
    const auto leave = leave_of_.find({tenancy.part, tenancy.piece, tenancy.presence});
    if (leave == leave_of_.end())
      return {Predecessor::Kind::kOperation, predecessor.index, predecessor.shift};
    return {Predecessor::Kind::kLeave, leave->second, predecessor.shift};
  }

  static void add(std::vector<Predecessor>& all, const Predecessor& one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }

  /// Fresh memory is waited for by the operation that it is allocated for.
  void make_first_uses() {
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      const Presence& fresh = parts_[p].presences.front();
      const Tensor& tensor = workload_.workload.tensors[parts_[p].tensor];
      if (tensor.persistent) continue;
      FirstUse use{tensor.birth, {}};
      for (std::uint32_t piece = 0; piece < parts_[p].count; ++piece) {
        const Tenancy& last = *lines().before(coloring_.chunks[p][piece], fresh.begin);
        add(use.after, resolved(end_of(last, free_since(last, fresh, tensor.birth)), last));
      }
      result_.schedule.first_uses.push_back(std::move(use));
    }
  }

  /// The operation from which on a tenant's chunk was free for one that came in the operations before
  /// `birth`, counted from the same iteration.
  std::int64_t free_since(const Tenancy& last, const Presence& fresh, std::uint32_t birth) const {
    const std::uint32_t from = presence(last).free_from % count_;
    const std::int64_t back = (birth + count_ - from) % count_;
    const bool whole_iteration = back == 0 && lines().apart(last.end, fresh.begin) > lines().total() / 2;
    return birth - (whole_iteration ? count_ : back);
  }

  const PlanWorkload& workload_;
  const std::vector<Part>& parts_;
  const Coloring& coloring_;
  const SimulationOptions& options_;
  std::uint32_t count_;
  std::vector<Move> moves_;
  std::map<PieceEnd, std::uint32_t> leave_of_;
  BuiltSchedule result_;
};

}  // namespace

BuiltSchedule build_schedule(const PlanWorkload& workload, const std::vector<Part>& parts,
                             const Coloring& coloring, const SimulationOptions& options) {
  return Builder(workload, parts, coloring, options).build();
}

}  // namespace tferry::analyzer
