#include "tests/runtime/program.hpp"
#include "tests/runtime/random.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <utility>

namespace tferry::runtime_test {
namespace {

constexpr std::size_t kStepsOfPhase = 40;
constexpr std::size_t kMostSmall = 4096;
constexpr std::size_t kMostPieces = 5;
constexpr std::size_t kMostLive = 14;  ///< large buffers of a lane

/// What a lane holds.
struct Lane {
  std::vector<int> live;
  std::vector<int> graphs;
  std::set<int> in_graphs;  ///< must live as long as the lane has graphs
  std::vector<Step> steps;
};

class Generator {
 public:
  Generator(std::uint64_t seed, std::size_t chunk) : random_(seed), chunk_(chunk) {
    program_.seed = seed;
    with_tables_ = random_.one_in(3);
    with_graphs_ = random_.one_in(3);
    with_small_ = !random_.one_in(4);
    lanes_.resize(1 + random_.below(kMostLanes));
    streams_ = 1 + random_.below(kStreams);
  }

  Program make() {
    for (int phase = 0; phase < 2; ++phase) {
      choose_shared();
      for (Lane& lane : lanes_) {
        for (std::size_t i = 0; i < kStepsOfPhase; ++i) add_step(lane);
      }
      std::vector<std::vector<Step>> steps;
      for (Lane& lane : lanes_) {
        for (const int graph : std::exchange(lane.graphs, {})) lane.steps.push_back(drop(graph));
        lane.in_graphs.clear();
        steps.push_back(std::exchange(lane.steps, {}));
      }
      program_.phases.push_back(std::move(steps));
      deal_out_again();
    }
    const std::size_t arena = arena_bytes_ / (chunk_ / 2) + lanes_.size() + 1;
    std::size_t staying = 0;
    for (const int buffer : staying_) staying += pieces(buffer);
    program_.least_chunks = arena + staying + lanes_.size() * (widest_ + kMostPieces);
    program_.most_chunks = arena + program_.buffers.size() * kMostPieces;
    return std::move(program_);
  }

 private:
  std::size_t pieces(int buffer) const { return (size(buffer) + chunk_ - 1) / chunk_; }
  std::size_t size(int buffer) const { return program_.buffers[static_cast<std::size_t>(buffer)]; }
  bool is_large(int buffer) const { return size(buffer) > chunk_ / 2; }
  int stream() { return static_cast<int>(random_.below(streams_)); }
  int pick(const std::vector<int>& from) { return from[random_.below(from.size())]; }

  void choose_shared() {
    shared_.clear();
    for (Lane& lane : lanes_) {
      if (lanes_.size() < 2 || lane.live.size() < 4) continue;
      shared_.push_back(lane.live.back());
      lane.live.pop_back();
    }
  }

  /// The lanes swap what they hold.
  void deal_out_again() {
    std::vector<int> all = std::exchange(shared_, {});
    for (Lane& lane : lanes_) {
      const auto taken = std::exchange(lane.live, {});
      all.insert(all.end(), taken.begin(), taken.end());
    }
    for (const int buffer : all) lanes_[random_.below(lanes_.size())].live.push_back(buffer);
  }

  /// A buffer to read from: the lane's own, or one that nobody writes in this phase.
  int source(const Lane& lane) {
    return !shared_.empty() && random_.one_in(4) ? pick(shared_) : pick(lane.live);
  }

  void add_step(Lane& lane) {
    if (lane.live.size() < 2 || (lane.live.size() < kMostLive && random_.one_in(3))) return allocate(lane);
    static constexpr std::array kActions = {
        Action::kFree,   Action::kFill,     Action::kMix,       Action::kMix,         Action::kMixByStruct,
        Action::kUpload, Action::kDownload, Action::kCopy,      Action::kAddPacked,   Action::kMixByStruct,
        Action::kSet,    Action::kSetRows,  Action::kCopyRows,  Action::kSynchronize, Action::kReplaceStream,
        Action::kReplay, Action::kCapture,  Action::kDropGraph, Action::kAddByTable};
    const Action action = kActions[random_.below(kActions.size())];
    Step step;
    step.action = action;
    step.stream = stream();
    step.value = random_.word();
    switch (action) {
      case Action::kFree:
        return release(lane, step);
      case Action::kSynchronize:
        step.form = static_cast<int>(random_.below(3));
        step.target = pick(lane.live);
        break;
      case Action::kReplaceStream:
        step.stream = static_cast<int>(random_.below(kOwnStreams));
        break;
      case Action::kCapture:
        return capture(lane, step);
      case Action::kReplay:
      case Action::kDropGraph:
        return use_graph(lane, step);
      case Action::kAddByTable:
        return add_by_table(lane, step);
      default:
        data_step(lane, step);
    }
    lane.steps.push_back(step);
  }

  void allocate(Lane& lane) {
    Step step;
    step.action = Action::kAllocate;
    step.stream = stream();
    step.form = static_cast<int>(random_.below(2));
    step.target = static_cast<int>(program_.buffers.size());
    const bool small = with_small_ && random_.one_in(3);
    const std::size_t most = small ? kMostSmall : kMostPieces * chunk_;
    std::size_t bytes =
        small ? 8 + random_.below(most) : chunk_ / 2 + 8 + random_.below(most - chunk_ / 2 - 8);
    bytes = bytes / 8 * 8;
    if (small) arena_bytes_ += 2 * bytes + 512;
    program_.buffers.push_back(bytes);
    lane.live.push_back(step.target);
    lane.steps.push_back(step);
    step.action = Action::kFill;  // at once, so that it can move: what no launch named stays
    step.value = random_.word();
    lane.steps.push_back(step);
  }

  void release(Lane& lane, Step& step) {
    const std::size_t at = random_.below(lane.live.size());
    if (lane.in_graphs.contains(lane.live[at])) return;
    step.target = lane.live[at];
    step.form = static_cast<int>(random_.below(2));
    lane.live.erase(lane.live.begin() + static_cast<std::ptrdiff_t>(at));
    lane.steps.push_back(step);
  }

  /// Chooses what a step that only moves or computes data works on.
  void data_step(Lane& lane, Step& step) {
    step.target = pick(lane.live);
    step.first = source(lane);
    step.second = source(lane);
    step.stale = static_cast<int>(random_.below(program_.buffers.size()));
    step.form = static_cast<int>(random_.below(3));
    const std::size_t to = size(step.target);
    const std::size_t from = size(step.first);
    const bool one_sided =
        step.action == Action::kUpload || step.action == Action::kSet || step.action == Action::kSetRows;
    const std::size_t room = step.action == Action::kDownload ? from : one_sided ? to : std::min(to, from);
    if (step.action == Action::kCopyRows || step.action == Action::kSetRows) {
      step.pitch = std::max<std::size_t>(4, room / 4 / (1 + random_.below(8)) / 4 * 4);
      step.rows = std::max<std::size_t>(1, room / step.pitch);
      step.bytes = std::min(room, 4 + random_.below(step.pitch - 3)) / 4 * 4;
      if (step.rows * step.pitch > room) step.rows = 1;
    } else {
      step.bytes = (4 + random_.below(room - 3)) / 4 * 4;
      step.target_at = random_.below(to - std::min(to, step.bytes) + 1) / 4 * 4;
      step.first_at = random_.below(from - std::min(from, step.bytes) + 1) / 4 * 4;
    }
    const bool overlaps = step.target == step.first;
    if (overlaps && (step.action == Action::kCopy || step.action == Action::kCopyRows))
      step.action = Action::kAddPacked;
    std::set<int> named{step.target};
    if (!one_sided) named.insert({step.first, step.second});
    std::size_t wide = step.action == Action::kMixByStruct && is_large(step.stale) ? kMostPieces : 0;
    for (const int buffer : named) wide += is_large(buffer) ? pieces(buffer) : 0;
    widest_ = std::max(widest_, wide);
  }

  void add_by_table(Lane& lane, Step& step) {
    if (!with_tables_) return;
    for (std::size_t i = 0; i < 2; ++i) step.table.push_back(pick(lane.live));
    for (const int buffer : step.table) {
      if (is_large(buffer)) staying_.insert(buffer);
    }
    arena_bytes_ += 2048;
    lane.steps.push_back(step);
  }

  void capture(Lane& lane, Step& step) {
    if (!with_graphs_ || lane.graphs.size() > 1) return;
    step.stream = static_cast<int>(random_.below(2));  // not a blocking one: the legacy stream would break it
    // In the global mode a call of another thread, of the program itself, would break the capture.
    step.form = static_cast<int>(lanes_.size() == 1 ? random_.below(3) : 1 + random_.below(2));
    step.graph = program_.graphs++;
    for (std::size_t i = 0, count = 1 + random_.below(4); i < count; ++i) {
      static constexpr std::array kActions = {Action::kFill,      Action::kMix,  Action::kMixByStruct,
                                              Action::kAddPacked, Action::kCopy, Action::kSet,
                                              Action::kUpload};
      Step inner;
      inner.action = kActions[random_.below(kActions.size())];
      inner.stream = step.stream;
      inner.value = random_.word();
      data_step(lane, inner);
      for (const int buffer : {inner.target, inner.first, inner.second, inner.stale}) {
        if (is_large(buffer)) staying_.insert(buffer);
        lane.in_graphs.insert(buffer);
      }
      step.captured.push_back(inner);
    }
    step.forked = random_.below(step.captured.size() + 1);
    lane.graphs.push_back(step.graph);
    lane.steps.push_back(step);
  }

  void use_graph(Lane& lane, Step& step) {
    if (lane.graphs.empty()) return;
    step.graph = pick(lane.graphs);
    if (step.action == Action::kDropGraph) {
      std::erase(lane.graphs, step.graph);
      if (lane.graphs.empty()) lane.in_graphs.clear();
    }
    lane.steps.push_back(step);
  }

  static Step drop(int graph) {
    Step step;
    step.action = Action::kDropGraph;
    step.graph = graph;
    return step;
  }

  Random random_;
  std::size_t chunk_;
  Program program_;
  std::vector<Lane> lanes_;
  std::vector<int> shared_;
  std::set<int> staying_;             ///< large buffers that cannot move from some point on
  std::size_t widest_ = kMostPieces;  ///< pieces that one operation names
  std::size_t arena_bytes_ = 0;
  std::size_t streams_ = 1;
  bool with_tables_ = false;
  bool with_graphs_ = false;
  bool with_small_ = false;
};

void print(std::ostream& out, const Step& step, const char* indent) {
  static constexpr const char* kNames[] = {
      "allocate",     "free",        "fill",           "mix",     "mix_by_struct", "add_packed",
      "add_by_table", "upload",      "download",       "copy",    "copy_rows",     "set",
      "set_rows",     "synchronize", "replace_stream", "capture", "replay",        "drop_graph"};
  out << indent << kNames[static_cast<int>(step.action)] << " stream " << step.stream << " form "
      << step.form;
  if (step.target >= 0) out << " target " << step.target << "+" << step.target_at;
  if (step.first >= 0) out << " first " << step.first << "+" << step.first_at;
  if (step.second >= 0) out << " second " << step.second;
  if (step.stale >= 0) out << " stale " << step.stale;
  if (step.bytes > 0) out << " bytes " << step.bytes << " rows " << step.rows << " pitch " << step.pitch;
  if (step.graph >= 0) out << " graph " << step.graph;
  for (const int buffer : step.table) out << " entry " << buffer;
  out << '\n';
  for (const Step& inner : step.captured) print(out, inner, "      ");
}

}  // namespace

Program generate(std::uint64_t seed, std::size_t chunk) { return Generator(seed, chunk).make(); }

std::ostream& operator<<(std::ostream& out, const Program& program) {
  out << "program " << program.seed << ": " << program.buffers.size() << " buffers, at least "
      << program.least_chunks << " chunks\n";
  for (std::size_t phase = 0; phase < program.phases.size(); ++phase) {
    for (std::size_t lane = 0; lane < program.phases[phase].size(); ++lane) {
      out << "  phase " << phase << " lane " << lane << '\n';
      for (const Step& step : program.phases[phase][lane]) print(out, step, "    ");
    }
  }
  return out;
}

}  // namespace tferry::runtime_test
