#pragma once

#include "analyzer/simulator/link.hpp"
#include "analyzer/workload/workload.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// How ranks share a link.
enum class Sharing : std::uint8_t {
  kFair,      ///< everybody at once, each an equal part of what the link can do
  kDeadline,  ///< one at a time in each direction, the one whose operation needs it first
  kPriority,  ///< one at a time, the rank with the lowest number
  kRotating,  ///< the same, numbers rotated by one from each round to the next
  kBehind     ///< one at a time, the rank that has ended the fewest iterations
};

/// The links of several ranks: each its own, and behind them one that they all share, with the same duplex
/// corner. At the level of chunks: whose turn it is is decided when a transfer begins or ends, so nothing is
/// interrupted, and only transfers that are ready take a turn. Rates of what is in flight together: a
/// direction's capacity over those that are in it, at most the rank's own rate; what one cannot use the
/// others get. Not for several threads.
class SharedLink {
 public:
  SharedLink(const LinkRates& shared, std::vector<LinkRates> own, Sharing sharing, double latency_ns);

  TransferPort& port(std::size_t rank) { return ports_[rank]; }
  /// For kRotating.
  void set_round(std::uint64_t round) { round_ = round; }
  /// For kBehind.
  void set_iteration(std::size_t rank, std::uint64_t iteration) { iterations_[rank] = iteration; }
  /// Until the next transfer ends; infinite when nothing moves.
  double time_left();
  /// Not beyond that.
  void advance(double time_ns);
  /// Time so far in which something crossed it, in either direction.
  double busy_ns() const { return busy_; }
  /// Whether that rank's transfer ended in the last advance.
  bool ended(std::size_t rank, TransferPort::Direction direction) const { return ended_[rank][direction]; }

 private:
  struct Transfer {
    double remaining = 0;  ///< bytes; 0: none
    double rate = 0;       ///< bytes per ns; 0: waits for its turn
    double urgency_at = 0;
    bool has_turn = false;
  };
  class Port final : public TransferPort {
   public:
    Port(SharedLink& link, std::size_t rank) : link_(link), rank_(rank) {}
    bool busy(Direction direction) const override { return link_.transfers_[rank_][direction].remaining > 0; }
    void start(Direction direction, double bytes, double urgency_ns) override {
      link_.start(rank_, direction, bytes, urgency_ns);
    }

   private:
    SharedLink& link_;
    std::size_t rank_;
  };

  void start(std::size_t rank, TransferPort::Direction direction, double bytes, double urgency_ns);
  void settle();
  void give_turns(TransferPort::Direction direction);
  void set_rates(TransferPort::Direction direction);
  bool before(std::size_t a, std::size_t b, TransferPort::Direction direction) const;

  LinkRates shared_;
  std::vector<LinkRates> own_;
  Sharing sharing_;
  double latency_ns_;
  std::vector<Port> ports_;
  std::vector<std::array<Transfer, 2>> transfers_;
  std::vector<std::array<bool, 2>> ended_;
  std::vector<std::uint64_t> iterations_;  ///< by rank, ended
  std::uint64_t round_ = 0;
  double now_ = 0;
  double busy_ = 0;
  bool settled_ = true;
};

}  // namespace tferry::analyzer
