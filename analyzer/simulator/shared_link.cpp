#include "analyzer/simulator/shared_link.hpp"

#include <algorithm>
#include <limits>

namespace tferry::analyzer {

using Direction = TransferPort::Direction;

SharedLink::SharedLink(const LinkRates& shared, std::vector<LinkRates> own, Sharing sharing,
                       double latency_ns)
    : shared_(shared),
      own_(std::move(own)),
      sharing_(sharing),
      latency_ns_(latency_ns),
      transfers_(own_.size()),
      ended_(own_.size()),
      iterations_(own_.size()) {
  for (std::size_t rank = 0; rank < own_.size(); ++rank) ports_.emplace_back(*this, rank);
}

void SharedLink::start(std::size_t rank, Direction direction, double bytes, double urgency_ns) {
  const double alone = direction == TransferPort::kIn ? own_[rank].in : own_[rank].out;
  transfers_[rank][direction] = {bytes_of_link(own_[rank], bytes, latency_ns_, alone), 0, now_ + urgency_ns,
                                 false};
  settled_ = false;
}

bool SharedLink::before(std::size_t a, std::size_t b, Direction direction) const {
  const std::size_t ranks = own_.size();
  if (sharing_ == Sharing::kRotating) return (a + round_) % ranks < (b + round_) % ranks;
  if (sharing_ == Sharing::kDeadline) {
    const double one = transfers_[a][direction].urgency_at, other = transfers_[b][direction].urgency_at;
    if (one != other) return one < other;
  }
  if (sharing_ == Sharing::kBehind && iterations_[a] != iterations_[b])
    return iterations_[a] < iterations_[b];
  return a < b;
}

void SharedLink::give_turns(Direction direction) {
  std::size_t next = own_.size();
  for (std::size_t rank = 0; rank < own_.size(); ++rank) {
    Transfer& transfer = transfers_[rank][direction];
    if (transfer.remaining <= 0) continue;
    if (sharing_ == Sharing::kFair)
      transfer.has_turn = true;
    else if (transfer.has_turn)
      return;
    else if (next == own_.size() || before(rank, next, direction))
      next = rank;
  }
  if (next < own_.size()) transfers_[next][direction].has_turn = true;
}

/// Equal parts of the capacity; those whose own link is slower take what that gives.
void SharedLink::set_rates(Direction direction) {
  const bool in = direction == TransferPort::kIn;
  const auto moves = [&](std::size_t rank, Direction way) {
    return transfers_[rank][way].remaining > 0 && transfers_[rank][way].has_turn;
  };
  const Direction other = in ? TransferPort::kOut : TransferPort::kIn;
  bool both = false;
  std::vector<std::pair<double, std::size_t>> movers;  // own rate, rank
  for (std::size_t rank = 0; rank < own_.size(); ++rank) {
    both |= moves(rank, other);
    if (!moves(rank, direction)) continue;
    const LinkRates& own = own_[rank];
    movers.emplace_back(moves(rank, other) ? (in ? own.duplex_in : own.duplex_out) : (in ? own.in : own.out),
                        rank);
  }
  double left = both ? (in ? shared_.duplex_in : shared_.duplex_out) : (in ? shared_.in : shared_.out);
  std::sort(movers.begin(), movers.end());
  for (std::size_t k = 0; k < movers.size(); ++k) {
    const double rate = std::min(movers[k].first, left / static_cast<double>(movers.size() - k));
    transfers_[movers[k].second][direction].rate = rate;
    left -= rate;
  }
}

void SharedLink::settle() {
  if (settled_) return;
  settled_ = true;
  for (const Direction direction : {TransferPort::kIn, TransferPort::kOut}) give_turns(direction);
  for (const Direction direction : {TransferPort::kIn, TransferPort::kOut}) set_rates(direction);
}

double SharedLink::time_left() {
  settle();
  double least = std::numeric_limits<double>::infinity();
  for (const auto& rank : transfers_) {
    for (const Transfer& transfer : rank) {
      if (transfer.rate > 0) least = std::min(least, transfer.remaining / transfer.rate);
    }
  }
  return least;
}

void SharedLink::advance(double time_ns) {
  now_ += time_ns;
  bool moved = false;
  for (std::size_t rank = 0; rank < transfers_.size(); ++rank) {
    for (const Direction direction : {TransferPort::kIn, TransferPort::kOut}) {
      Transfer& transfer = transfers_[rank][direction];
      ended_[rank][direction] = false;
      if (transfer.rate == 0) continue;
      moved = true;
      ended_[rank][direction] = transfer.remaining / transfer.rate <= time_ns * (1 + 1e-12) + 1e-9;
      if (ended_[rank][direction]) {
        transfer = {};
        settled_ = false;
      } else {
        transfer.remaining = std::max(transfer.remaining - transfer.rate * time_ns, 1e-9);
      }
    }
  }
  if (moved) busy_ += time_ns;
}

}  // namespace tferry::analyzer
