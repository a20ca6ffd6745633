#include "runtime/plan_follower.hpp"

#include <utility>

namespace tferry::runtime {

PlanFollower::PlanFollower(std::shared_ptr<const PlanIndex> index, std::int64_t smallest)
    : index_(std::move(index)),
      position_(*index_),
      bindings_(*index_, smallest),
      matching_(*index_, smallest) {}

void PlanFollower::allocated(std::uint64_t address, std::int64_t bytes) {
  if (counting()) bindings_.allocated(address, bytes);
  if (!adopted_) matching_.allocated(address);
}

void PlanFollower::freed(std::uint64_t address) {
  bindings_.freed(address);
  if (!adopted_) matching_.freed(address);
}

PlanFollower::Place PlanFollower::begin(std::uint64_t signature, std::span<const NamedAllocation> names) {
  const bool was_in_plan = position_.in_plan();
  const std::uint64_t astray = position_.astray();
  const PlanPosition::Match match = position_.advance(signature);
  ++iteration_operations_;
  if (adopted_) ++counts_.operations;
  if (match.position == kNone) {
    if (adopted_ && was_in_plan) ++counts_.departures;
    return {};
  }
  if (match.found) {
    const bool excursion = ever_ && !match.next_iteration && astray <= kExcursion;
    if (match.next_iteration) iteration_ended();
    if (!excursion) bindings_.found_at(match.position);
    if (adopted_ && was_in_plan) ++counts_.departures;
    if (adopted_) ++counts_.rejoins;
    ever_ = true;
  }
  ++iteration_matched_;
  if (adopted_) ++counts_.matched;
  bindings_.named(match.position, names);
  if (!adopted_) matching_.named(match.position, names);
  return {match.position, match.found};
}

bool PlanFollower::end(const Place& place, bool submitted) {
  if (!submitted) {
    position_.retreat(place.position);
    return false;
  }
  if (place.position != index_->size() - 1) return false;
  iteration_ended();
  bindings_.iteration_ended();
  return true;
}

void PlanFollower::iteration_ended() {
  const std::uint64_t size = index_->size();
  whole_ = iteration_matched_ >= size - size / 10;
  if (!adopted_) {
    const auto matches = matching_.iteration_ended();
    if (whole_) bindings_.settle(matches);
    if (whole_) ++observed_;
  } else {
    ++counts_.iterations;
    if (iteration_matched_ == size && iteration_operations_ == size) ++counts_.followed;
  }
  ready_ = whole_ && known_enough();
  iteration_operations_ = iteration_matched_ = 0;
}

bool PlanFollower::known_enough() const {
  const std::size_t unknown = bindings_.unknown();
  return unknown == 0 || (observed_ >= kSpare && unknown * kSparedOf <= bindings_.persistent());
}

void PlanFollower::set_adopted(bool adopted) {
  adopted_ = adopted;
  observed_ = 0;
  ready_ = false;
}

bool PlanFollower::foreign() const {
  return !adopted_ && position_.astray() > 2 * std::uint64_t{index_->size()} + 1000;
}

bool PlanFollower::lost() const {
  return adopted_ && position_.astray() > 2 * std::uint64_t{index_->size()} + 256;
}

}  // namespace tferry::runtime
