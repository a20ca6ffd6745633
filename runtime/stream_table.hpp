#pragma once

#include "cuda/driver.hpp"
#include "runtime/moment.hpp"

#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace tferry::runtime {

/// The streams that are known, the operations counted on each, and events that tell how far they got. A
/// moment turns into an event only when somebody waits for it from another stream: jobs of one stream that
/// never swap record none.
///
/// Thread rule: under the runtime's lock. Driver calls made here: cuEventCreate, -Record, -Query,
/// -Synchronize, cuStreamWaitEvent, never while the calling thread could break a capture (see CaptureGuard).
class StreamTable {
 public:
  explicit StreamTable(const cuda::Driver& driver) : driver_(driver) {}

  /// The index of a program's stream, registered at first sight. `per_thread` says what stream 0 means in
  /// this call. A stream first used waits for all others once: memory that one stream gave back may already
  /// be in its hands. While it is `capturing` it cannot, and does so at its next use.
  StreamIndex find(CUstream stream, bool per_thread, bool capturing = false);
  /// Registers a stream that the program made and has not used yet.
  void introduce(CUstream stream);
  /// Registers a stream of the runtime's own, which is not among `program_streams`.
  StreamIndex add_internal(CUstream stream, CUcontext context);
  /// The program destroyed this stream: its operations are noted by a last event and its index is kept for a
  /// successor.
  void retire(CUstream stream);
  void forget_context(CUcontext context);

  /// Counts one more operation, just submitted. On a thread's own default stream it is marked at once: no
  /// other thread can record an event there.
  Moment stamp(StreamIndex stream);
  /// The moment after everything submitted so far.
  Moment tail(StreamIndex stream) const { return {stream, states_[stream]->queued}; }
  /// Tails of all program streams that have unfinished work.
  void add_tails(Moments& moments);

  /// Makes `waiter` wait on the GPU for the moments. True if a wait had to be submitted. Where the driver
  /// refuses an event, the host waits: no wait is ever left out.
  bool wait(StreamIndex waiter, const Moments& moments);
  bool wait(StreamIndex waiter, Moment moment);
  /// Whether the moment is already known to have passed; asks nobody.
  bool known_done(Moment moment) const { return moment.sequence <= states_[moment.stream]->completed; }
  /// Whether the moment has passed, as far as can be told without waiting.
  bool done(Moment moment);
  /// Blocks the calling thread until it has passed.
  void wait_on_host(Moment moment);
  /// The same for all of them. Returns for how many there was something to wait.
  std::int64_t wait_on_host(const Moments& moments);
  /// Whether memory given back at these moments may be written to without any wait: what used it has ended,
  /// or the program has one stream, which is in order with itself (but not with those that are gone).
  bool reusable(const Moments& moments);

  /// Records an event at the tail when `interval` operations went by since the last one (see ALGORITHMS.md,
  /// rule 3).
  void mark_every(StreamIndex stream, Sequence interval);
  /// The same at a free of small memory, for the streams of these moments: pieces freed early can then be
  /// told to be idle early. An event that is recorded only when somebody asks comes behind all that was
  /// queued since, and a job with several streams would never get its pieces back. Nothing while anyone
  /// captures.
  void mark_for_reuse(const Moments& moments, Sequence interval);
  void mark(StreamIndex stream);
  /// Marks every program stream that has unmarked work. Before a capture begins: from then on no event can be
  /// recorded in what captures.
  void mark_all();

  CUstream handle(StreamIndex stream) const { return states_[stream]->handle; }
  bool retired(StreamIndex stream) const { return states_[stream]->retired; }
  std::size_t program_streams() const { return program_streams_; }
  /// Records an event of the caller's in each of the program's streams of a context, used or not, other than
  /// default streams. False when that cannot cover all its work: a stream was destroyed with work queued, or
  /// the driver refused. The events are the caller's to give back either way.
  bool record_all(CUcontext context, std::vector<CUevent>& events);
  void give_back(CUcontext context, std::span<const CUevent> events);

 private:
  struct Recorded {
    Sequence sequence;
    CUevent event;
  };
  struct State {
    CUstream handle = nullptr;
    CUcontext context = nullptr;
    Sequence queued = 0;
    Sequence completed = 0;
    std::deque<Recorded> recorded;
    std::vector<Sequence> waited;  ///< by index of the stream waited for
    bool internal = false;
    bool per_thread = false;  ///< a thread's own default stream
    bool used = false;        ///< it waited for all others at its first use
    bool retired = false;
  };

  StreamIndex add(CUstream stream, CUcontext context, bool internal);
  const Recorded* event_at(State& state, Sequence sequence);
  bool record(State& state);
  void drain(State& state);
  void trim(State& state);
  CUevent take_event(CUcontext context);

  const cuda::Driver& driver_;
  std::vector<std::unique_ptr<State>> states_;
  std::unordered_map<CUstream, StreamIndex> by_handle_;
  std::unordered_map<CUcontext, std::vector<CUevent>> spare_events_;
  std::size_t program_streams_ = 0;
};

}  // namespace tferry::runtime
