#pragma once

#include "cuda/driver.hpp"
#include "runtime/operation.hpp"
#include "runtime/recorder.hpp"
#include "runtime/stream_table.hpp"

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

namespace tferry::runtime {

/// Tells when operations and our own copies ran on the GPU without CUPTI: an event before and one after each,
/// read back once they have passed, without waiting for them. What it finds goes to the spool as activity
/// records, as a collector would have written them, with stream ids of its own. For the first iterations of a
/// job that is planned while it runs, and for a few under a plan: two events cost a launch a few
/// microseconds. A third, before the waits for what the operation names, tells how long the GPU stood still
/// for them.
///
/// Start is when all that the operation had to wait for was done, so it may lie before the first block of a
/// kernel starts by a microsecond or two. Times are those of the host's clock, aligned once, when the first
/// operation is timed, by a wait for an idle stream (tens of microseconds apart at worst), and whenever an
/// operation seems to start before it was asked for.
///
/// Operations in captures, of other contexts than the first, and more than 8,192 on their way are left out.
/// Under the runtime's lock.
class OperationTimer {
 public:
  /// Of two events in a row the second passes a few microseconds later: that is no wait.
  static constexpr std::int64_t kShortestWait = 10'000;  ///< ns

  OperationTimer(const cuda::Driver& driver, Recorder& recorder, StreamTable& streams)
      : driver_(driver), recorder_(recorder), streams_(streams) {}
  OperationTimer(const OperationTimer&) = delete;
  OperationTimer& operator=(const OperationTimer&) = delete;

  /// What the operation has to wait for is about to be submitted.
  void arrive(Operation& operation);
  /// The operation is about to be submitted, and all its waits have been.
  void begin(Operation& operation);
  /// It was submitted or refused. Before it is recorded.
  void end(Operation& operation, int device, bool submitted);
  /// Around a copy of our own on a stream of our own. `begin_copy`: null: it is not timed.
  CUevent begin_copy(CUstream stream);
  void end_copy(CUevent begin, CUstream stream, StreamIndex index, int device, trace::CopyKind kind,
                std::int64_t bytes, std::int64_t submit_ns);
  /// Records what has passed since the last time.
  void read();
  /// All that was timed is recorded.
  bool idle() const { return on_their_way_.empty(); }
  /// The events went with their context.
  void forget_context(CUcontext context);

 private:
  static constexpr std::size_t kMostOnTheirWay = 8192;
  static constexpr std::int64_t kFarFromReference = 500'000'000;  ///< ns; elapsed times are floats

  struct Timed {
    CUevent arrival = nullptr;  ///< null: it did not wait
    CUevent begin = nullptr;
    CUevent end = nullptr;
    OperationDetails details;  ///< without accesses
    ActivityTimes times;
    std::int64_t fetched = 0;
    std::int64_t parked = 0;
  };

  bool can_time();
  bool open(CUcontext context);
  CUevent take_event();
  CUevent record(CUstream stream);
  void put_back(CUevent event) {
    if (event != nullptr) spare_.push_back(event);
  }
  bool read(const Timed& timed);
  bool elapsed(CUevent from, CUevent to, std::int64_t& ns) const;

  const cuda::Driver& driver_;
  Recorder& recorder_;
  StreamTable& streams_;
  CUcontext context_ = nullptr;
  CUevent reference_ = nullptr;
  std::int64_t reference_ns_ = 0;
  std::deque<Timed> on_their_way_;
  std::vector<CUevent> spare_;
  std::set<CUstream> told_;  ///< streams whose ids are in the spool
  std::uint32_t copies_ = 0;
  bool stopped_ = false;
};

}  // namespace tferry::runtime
