// The part of DeviceMemory that follows a plan: steps before and after operations, places for allocations.
// Nothing here decides correctness: an operation acquires its whole working set whatever the plan says.
#include "runtime/capture_guard.hpp"
#include "runtime/device_memory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <limits>

namespace tferry::runtime {
namespace {

constexpr std::uint64_t kLookInterval =
    256;  ///< operations between two looks for a plan while none is followed

}  // namespace

void DeviceMemory::take_plan(std::shared_ptr<const PlanIndex> index) {
  const auto smallest = static_cast<std::int64_t>(arena_->largest());
  auto plan = std::make_unique<DevicePlan>(std::move(index), smallest, ++plan_serial_);
  const std::size_t needed = plan->plan().chunk_count;
  if (plan->plan().chunk_bytes != chunk_size()) {
    return refuse_plan(*plan, "it is for pieces of another size than those of this process");
  }
  if (!may_evict_) return refuse_plan(*plan, "nothing moves in this process");
  if (needed > pool_->limit()) {
    char why[128];
    std::snprintf(why, sizeof why, "it needs %.2f GiB, and the budget is %.2f GiB",
                  gib(needed * chunk_size()), gib(pool_->limit() * chunk_size()));
    return refuse_plan(*plan, why);
  }
  (plan_ != nullptr && plan_->follower.adopted() ? later_plan_ : plan_) = std::move(plan);
  note_plan_state();
}

void DeviceMemory::refuse_plan(const DevicePlan& plan, const char* why) {
  status_.say(0, "GPU %d: %s is not followed: %s. The job runs on without it.", ordinal_, plan.name(), why);
  if (plan_ == nullptr) counters_.plan_state = static_cast<std::int64_t>(trace::PlanState::kRefused);
}

void DeviceMemory::look_for_later_plan() {
  if (plans_ == nullptr) return;
  std::string error;
  if (auto index = plans_->newer(error)) return take_plan(std::move(index));
  if (!error.empty()) status_.say(0, "GPU %d: %s. The job runs on without it.", ordinal_, error.c_str());
}

Block* DeviceMemory::block_of(const DevicePlan& plan, std::uint32_t tensor) const {
  const CUdeviceptr address = plan.follower.bindings().address_of(tensor);
  Block* block = address != 0 ? store_->find(address) : nullptr;
  return block != nullptr && block->live && !block->arena && block->address == address ? block : nullptr;
}

void DeviceMemory::plan_begin(Operation& operation, std::span<Block* const> blocks) {
  if (reclaim_) reclaim_->advance(operation.signature);
  if (plan_ == nullptr || !plan_->follower.following()) {
    if (plans_ == nullptr) return;
    if (operations_since_look_++ % kLookInterval == 0) look_for_later_plan();
  }
  named_.clear();
  for (const Block* block : blocks) {
    if (block->device == ordinal_ && block->requested != 0)
      named_.push_back({block->address, static_cast<std::int64_t>(block->requested)});
  }
  auto mark = operation.plan_marks.begin();
  for (const auto* plan : {&plan_, &later_plan_}) {
    if (*plan != nullptr) *mark = {(*plan)->serial, (*plan)->follower.begin(operation.signature, named_)};
    ++mark;
  }
}

/// Where the operation is in the plan that is being followed; kNone: in none.
PlanFollower::Place DeviceMemory::place_in_plan(const Operation& operation) const {
  const PlanMark& mark = operation.plan_marks[0];
  if (plan_ == nullptr || mark.plan != plan_->serial || !plan_->follower.adopted()) return {};
  return mark.place;
}

void DeviceMemory::count_late(const Operation& operation, const Block& block) {
  const PlanFollower::Place place = place_in_plan(operation);
  if (place.position == PlanFollower::kNone || place.found) return;
  const std::uint32_t tensor = plan_->follower.bindings().tensor_at(block.address);
  std::int64_t late = 0;
  for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
    if (block.pieces[i].place != Piece::Place::kParked) continue;
    const auto due = plan_->index->returns(place.position);
    late += std::none_of(due.begin(), due.end(), [&](const trace::FlatPlan::Step& step) {
      return step.tensor == tensor && i >= step.first && i - step.first < step.count;
    });
  }
  count(counters_.plan_late_fetches, late);
  count(counters_.plan_late_bytes, late * static_cast<std::int64_t>(chunk_size()));
}

void DeviceMemory::plan_fetch(Operation& operation) {
  const PlanFollower::Place place = place_in_plan(operation);
  if (place.position == PlanFollower::kNone) return;
  const std::int64_t before = counters_.bytes_in;
  if (place.found) restore(place.position);
  for (const trace::FlatPlan::Step& step : plan_->index->returns(place.position)) {
    count(counters_.plan_actions_due);
    if (Block* block = block_of(*plan_, step.tensor))
      count(counters_.plan_actions_done, bring_back(*block, step));
  }
  operation.fetched_ahead = counters_.bytes_in - before;
}

/// How long after this step the plan has the next operation that names its tensor, all operations being taken
/// for alike; 0 where nobody asks, or nothing is known.
std::int64_t DeviceMemory::slack_of(const trace::FlatPlan::Step& step) const {
  const std::int64_t predicted = plan_->plan().predicted_ns;
  const std::uint32_t size = plan_->index->size();
  if (!gates_ || !gates_->in.active() || predicted <= 0 || size == 0) return 0;
  for (std::uint32_t k = 0; k < size; ++k) {
    const auto names = plan_->index->names((step.position + k) % size);
    if (std::find(names.begin(), names.end(), step.tensor) != names.end()) return predicted / size * k;
  }
  return 0;
}

/// Fetches the pieces of a step whose chunks nobody holds. True when all are on the device then.
bool DeviceMemory::bring_back(Block& block, const trace::FlatPlan::Step& step) {
  std::vector<std::uint32_t>& arriving = arriving_;
  arriving.clear();
  bool all = true;
  const std::uint32_t end = std::min(step.first + step.count, block.piece_count());
  for (std::uint32_t i = step.first; i < end; ++i) {
    if (block.pieces[i].place != Piece::Place::kParked) continue;
    if (take_back(block, i)) {
      arriving.push_back(i);
    } else {
      all = false;
    }
  }
  fetch_slack_ = slack_of(step);
  ahead_ = true;
  all = submit_fetch(block, arriving) && all;
  ahead_ = false;
  fetch_slack_ = 0;
  return all;
}

/// Gives a parked piece the chunk that the plan has for it, or without one that which its address maps, if
/// that takes nothing from anybody. A mapping call only after surprises, and in audit mode.
bool DeviceMemory::take_back(Block& block, std::uint32_t index) {
  Piece& piece = block.pieces[index];
  const ChunkId wanted = piece.home != kNoChunk ? piece.home : piece.chunk;
  if (wanted == kNoChunk || (*pool_)[wanted].owner != nullptr) return false;
  if (wanted != piece.chunk) {
    const std::int64_t before = store_->mappings();
    const bool settled = settle_in(block, index, wanted);
    count_set_up(before);
    return settled;
  }
  --(*pool_)[piece.chunk].claims;
  pool_->set_owner(piece.chunk, &block, index);
  return true;
}

/// Parks the pieces of a step that are on the device. True when none is there any more.
bool DeviceMemory::send_away(Block& block, const trace::FlatPlan::Step& step) {
  leaving_.clear();
  const std::uint32_t end = std::min(step.first + step.count, block.piece_count());
  for (std::uint32_t i = step.first; i < end; ++i) {
    if (block.pieces[i].place == Piece::Place::kOnDevice) leaving_.push_back(i);
  }
  ahead_ = true;
  const bool gone = leaving_.empty() || (evictable(block) && evict(block, leaving_));
  ahead_ = false;
  return gone;
}

/// Brings everything to where the plan has it just before the return steps of this position: after the
/// program was off the plan, and when it is adopted.
void DeviceMemory::restore(std::uint32_t position) {
  restore(position, true);
  restore(position, false);
}

void DeviceMemory::restore(std::uint32_t position, bool leaving) {
  const std::vector<bool> away = plan_->index->away_before(position);
  for (std::uint32_t tensor = 0; tensor < plan_->first_block.size(); ++tensor) {
    const trace::FlatPlan::Tensor& entry = plan_->plan().tensors[tensor];
    Block* block = entry.addresses == 1 ? block_of(*plan_, tensor) : nullptr;
    if (block == nullptr || (!leaving && block->parked == 0)) continue;
    const std::size_t first = plan_->index->first_piece(tensor);
    const std::uint32_t pieces = std::min(entry.pieces, block->piece_count());
    for (std::uint32_t i = 0; i < pieces;) {
      std::uint32_t end = i + 1;
      while (end < pieces && away[first + end] == away[first + i]) ++end;
      const trace::FlatPlan::Step step{position, tensor, i, end - i};
      if (away[first + i] && leaving) send_away(*block, step);
      if (!away[first + i] && !leaving) bring_back(*block, step);
      i = end;
    }
  }
}

void DeviceMemory::plan_end(Operation& operation, bool submitted) {
  const PlanFollower::Place place = place_in_plan(operation);
  std::array<bool, 2> ended{};  // an iteration of plan_, of later_plan_
  for (std::size_t i = 0; i < ended.size(); ++i) {
    DevicePlan* plan = i == 0 ? plan_.get() : later_plan_.get();
    const PlanMark known = operation.plan_marks[i];
    if (plan != nullptr && known.plan == plan->serial) ended[i] = plan->follower.end(known.place, submitted);
  }
  operation.plan_marks = {};
  if (submitted && place.position != PlanFollower::kNone) {
    for (const trace::FlatPlan::Step& step : plan_->index->leaves(place.position)) {
      count(counters_.plan_actions_due);
      if (Block* block = block_of(*plan_, step.tensor))
        count(counters_.plan_actions_done, send_away(*block, step));
    }
  }
  if (submitted && reclaim_ && !following()) reclaim_again(operation);
  if (ended[0] || ended[1]) plan_boundary(streams_.handle(operation.stream), ended[0]);
  complain_about_plan();
  note_plan_state();
}

/// An iteration ended: the only time at which plans change, and pieces are put back. `of_plan`: one of plan_,
/// not of the one that is to replace it.
void DeviceMemory::plan_boundary(CUstream stream, bool of_plan) {
  // Events cannot be recorded in what captures, and what it names is about to be held.
  if (g_capturing.load(std::memory_order_relaxed) > 0) return;
  if (of_plan) time_iteration(stream);
  if (gates_) coordinator_->round_ended(ordinal_);
  if (planned()) {
    account_iteration();
    put_back();
    look_for_hidden_pointers();
    begin_iteration();
    look_for_later_plan();
  }
  if (later_plan_ != nullptr && later_plan_->follower.ready() && all_change_to(*later_plan_)) {
    leave_plan();
    plan_ = std::move(later_plan_);
  }
  judge_plan();
  if (plan_ != nullptr && !plan_->follower.adopted() && plan_->follower.ready() && plan_->judge.wanted() &&
      all_change_to(*plan_))
    adopt_plan();
  watch_iterations();
}

/// Ranks that take turns change plans at the same iteration. A plan that was agreed on is not asked about
/// again, such as one that was left on trial.
bool DeviceMemory::all_change_to(DevicePlan& plan) {
  plan.agreed = plan.agreed || !gates_ || coordinator_->may_change_plan(ordinal_);
  return plan.agreed;
}

/// Leaves a plan under which iterations take longer than without it.
void DeviceMemory::judge_plan() {
  if (plan_ == nullptr) return;
  const std::int64_t predicted = plan_->plan().predicted_ns;
  // A prediction for another way of the copies is none; iterations without the plan are compared all the
  // same.
  const bool comparable = predicted <= 0 || by_route_of(plan_->plan());
  const PlanJudge::Verdict verdict =
      plan_->judge.judge(comparable ? predicted : std::numeric_limits<std::int64_t>::max());
  if (verdict == PlanJudge::Verdict::kStay) return;
  if (verdict == PlanJudge::Verdict::kTry) {
    status_.say(2, "GPU %d: %s is left for some iterations, to see what they take without it", ordinal_,
                plan_->name());
    return leave_plan();
  }
  status_.say(
      0,
      "GPU %d: %s costs more than it brings: an iteration took %.1f ms under it, and %.1f ms without. "
      "The job runs on without it.",
      ordinal_, plan_->name(), static_cast<double>(plan_->judge.under_ns()) / 1e6,
      static_cast<double>(plan_->judge.without_ns()) / 1e6);
  leave_plan();
  plan_.reset();
  counters_.plan_state = static_cast<std::int64_t>(trace::PlanState::kCostly);
}

void DeviceMemory::complain_about_plan() {
  if (plan_ != nullptr && plan_->follower.lost()) {
    status_.say(1, "GPU %d: the job no longer does what %s says; going on without it", ordinal_,
                plan_->name());
    plan_->complained = true;
    leave_plan();
  }
  for (auto* plan : {&plan_, &later_plan_}) {
    if (*plan == nullptr || (*plan)->complained || (*plan)->follower.adopted()) continue;
    const PlanFollower& follower = (*plan)->follower;
    if (follower.foreign()) {
      (*plan)->complained = true;
      status_.say(
          0,
          "GPU %d: %s is for another program: for %u operations none was found in it. The job runs on "
          "without it.",
          ordinal_, (*plan)->name(), 2 * (*plan)->index->size() + 1000);
    } else if (follower.mismatched() && (*plan)->judge.wanted()) {
      status_.say(
          0,
          "GPU %d: %s does not fit: of %zu allocations that live on, %zu were not found. The job runs "
          "on without it.",
          ordinal_, (*plan)->name(), follower.bindings().persistent(), follower.bindings().unknown());
      plan->reset();
    }
  }
}

void DeviceMemory::note_plan_state() {
  using trace::PlanState;
  if (plan_ == nullptr) return;
  const PlanFollower& follower = plan_->follower;
  PlanState state = follower.in_plan() ? PlanState::kObserving : PlanState::kLooking;
  if (follower.adopted()) state = follower.in_plan() ? PlanState::kFollowing : PlanState::kAstray;
  if (plan_->complained && !follower.in_plan()) state = PlanState::kForeign;
  counters_.plan_state = static_cast<std::int64_t>(state);
  const PlanFollower::Counts& now = follower.counts();
  PlanFollower::Counts& before = plan_->counted;
  const auto add = [](auto& counter, std::uint64_t value, std::uint64_t& known) {
    if (value != known) count(counter, static_cast<std::int64_t>(value - known));
    known = value;
  };
  add(counters_.plan_operations, now.operations, before.operations);
  add(counters_.plan_matched, now.matched, before.matched);
  add(counters_.plan_departures, now.departures, before.departures);
  add(counters_.plan_rejoins, now.rejoins, before.rejoins);
  add(counters_.plan_iterations, now.iterations, before.iterations);
  add(counters_.plan_iterations_followed, now.followed, before.followed);
}

void DeviceMemory::account_iteration() {
  count(counters_.plan_mappings, store_->mappings() - plan_->boundary_mappings);
  const std::uint64_t followed = plan_->follower.counts().followed;
  if (followed == plan_->followed) return;
  plan_->followed = followed;
  count(counters_.plan_bytes_out, counters_.bytes_out - plan_->boundary_out);
  count(counters_.plan_bytes_in, counters_.bytes_in - plan_->boundary_in);
}

/// Times what has passed of the iterations that ended before.
void DeviceMemory::time_iteration(CUstream stream) {
  using Kind = IterationTimer::Kind;
  Kind kind = plan_->follower.whole() ? Kind::kWithout : Kind::kOther;
  if (watching_) kind = Kind::kOther;  // the events cost time
  if (planned() && kind != Kind::kOther)
    kind = plan_->follower.counts().followed != plan_->followed ? Kind::kFollowed : Kind::kUnder;
  iteration_timer_.iteration_ended(stream, kind, gates_ ? coordinator_->round(ordinal_) : 0);
  while (const auto time = iteration_timer_.next()) {
    if (gates_) coordinator_->iteration_took(ordinal_, time->number, time->ns);
    if (time->kind == Kind::kWithout) {
      plan_->judge.took_without(time->ns);
    } else {
      plan_->judge.took_under(time->ns);
    }
    if (time->kind == Kind::kUnder) {
      count(counters_.plan_off_ns, time->ns);
      count(counters_.plan_off_timed);
    }
    if (time->kind != Kind::kFollowed) continue;
    counters_.plan_last_ns = time->ns;
    count(counters_.plan_measured_ns, time->ns);
    count(counters_.plan_iterations_timed);
  }
}

void DeviceMemory::begin_iteration() {
  plan_->boundary_mappings = store_->mappings();
  plan_->boundary_out = counters_.bytes_out;
  plan_->boundary_in = counters_.bytes_in;
}

/// The block that the plan has for the next allocation of so many bytes; null where it has none, or none that
/// nobody uses.
Block* DeviceMemory::planned_place(std::size_t bytes) {
  if (plan_ == nullptr || !plan_->follower.adopted()) return nullptr;
  const std::uint32_t tensor = plan_->follower.next_of(static_cast<std::int64_t>(bytes));
  if (tensor == PlanFollower::kNone) return nullptr;
  const std::uint32_t addresses = plan_->plan().tensors[tensor].addresses;
  for (std::uint32_t k = 0; k < addresses; ++k) {
    const std::uint32_t address = (plan_->next_address[tensor] + k) % addresses;
    Block* block = plan_->blocks[plan_->first_block[tensor] + address];
    if (block == nullptr || block->live) continue;
    const bool clean = std::all_of(block->pieces.begin(), block->pieces.end(), [&](const Piece& piece) {
      return piece.home != kNoChunk && (*pool_)[piece.home].owner == nullptr;
    });
    if (!clean || !repair(*block)) continue;
    plan_->next_address[tensor] = (address + 1) % addresses;
    count(counters_.plan_placed);
    return block;
  }
  count(counters_.plan_conflicts);
  return nullptr;
}

/// A free block of the plan's maps its homes again after surprises. A mapping call of the step only then.
bool DeviceMemory::repair(Block& block) {
  bool home = true;
  for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
    if (block.pieces[i].chunk == block.pieces[i].home) continue;
    const std::int64_t before = store_->mappings();
    home = go_home(block, i) && home;
    count_set_up(before);
  }
  return home;
}

/// Mappings made since there were `before` are not those of a step.
void DeviceMemory::count_set_up(std::int64_t before) {
  const std::int64_t made = store_->mappings() - before;
  plan_->boundary_mappings += made;
  counters_.mappings = store_->mappings();
  count(counters_.plan_set_up_mappings, made);
}

/// Under a plan, what it does not know lives beside its chunks as long as there is room, also such as others
/// of its kind have not used for long, and takes from them only when there is none.
Block* DeviceMemory::unplanned_place(std::size_t pieces) {
  if (Block* block = clean_block(pieces, true)) return block;
  if (pool_->unplanned_free_count() < pieces && pool_->existing() < pool_->limit()) {
    grow_by(std::min(pieces - pool_->unplanned_free_count(), pool_->limit() - pool_->existing()));
  }
  if (pool_->unplanned_free_count() < pieces) park_idle(pieces);
  if (pool_->unplanned_free_count() >= pieces) return make_block(pieces);
  std::int64_t parked = 0;
  if (!make_room(pieces, parked)) return nullptr;
  Block* block = make_block(pieces);
  if (block != nullptr) count(counters_.plan_surprises);
  return block;
}

void DeviceMemory::plan_allocated(const Block& block) {
  for (const auto* plan : {&plan_, &later_plan_}) {
    if (*plan != nullptr)
      (*plan)->follower.allocated(block.address, static_cast<std::int64_t>(block.requested));
  }
}

void DeviceMemory::plan_freed(CUdeviceptr address) {
  for (const auto* plan : {&plan_, &later_plan_}) {
    if (*plan != nullptr) (*plan)->follower.freed(address);
  }
}

/// A block of the plan was released by the program: it waits for the tensor's next instance, unless the plan
/// counted on its living on.
void DeviceMemory::keep_planned(Block& block) {
  if (plan_->plan().tensors[block.plan_tensor].persistent != 0) {
    take_out_of_plan(block);
    store_->add_free(block);
    return;
  }
  for (const Piece& piece : block.pieces) plan_->displaced = plan_->displaced || piece.chunk != piece.home;
}

}  // namespace tferry::runtime
