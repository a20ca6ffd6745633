#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tferry::trace {

/// How a transfer came to its turn. Order is the file format.
enum class SlotUse : std::uint8_t {
  kGranted,  ///< asked for a turn and got it
  kAhead,    ///< let through without asking, because nobody else waited
  kExpired   ///< granted, and took longer than the lease, so that the turn was taken away
};

/// One turn on a link, or rather one transfer that was to take one. Times are ns of CLOCK_MONOTONIC, which
/// all processes of a host share; 0: not known.
struct SlotEntry {
  std::uint64_t link = 0;  ///< slot_link_number of its name
  std::uint64_t bytes = 0;
  std::uint64_t round = 0;    ///< iterations that its rank had submitted before it
  std::int64_t asked_ns = 0;  ///< seen to be ready
  std::int64_t granted_ns = 0;
  std::int64_t ended_ns = 0;
  std::int32_t rank = -1;      ///< local rank; -1: not known
  std::int16_t device = 0;     ///< of the GPU in its process
  std::uint8_t direction = 0;  ///< 0 in, to the GPU; 1 out
  SlotUse use = SlotUse::kGranted;
};
static_assert(sizeof(SlotEntry) == 56);

/// Appends entries to a file of the run directory (mode 0600), as `slots.PID`. One thread. Errors of the disk
/// end the log, not the job.
class SlotLogWriter {
 public:
  static constexpr std::size_t kMostEntries = 1'000'000;  ///< 56 MB; what comes later is only counted

  /// Null where it cannot be made.
  static std::unique_ptr<SlotLogWriter> create(const std::string& path);
  ~SlotLogWriter();
  SlotLogWriter(const SlotLogWriter&) = delete;
  SlotLogWriter& operator=(const SlotLogWriter&) = delete;

  void append(const SlotEntry& entry);
  void flush();

 private:
  explicit SlotLogWriter(int file) : file_(file) {}

  int file_;
  std::array<SlotEntry, 256> waiting_{};
  std::size_t count_ = 0;
  std::size_t written_ = 0;
};

struct SlotLog {
  std::vector<SlotEntry> entries;
  bool full = false;        ///< turns that came later are not in it
  std::size_t damaged = 0;  ///< entries that make no sense and were left out
};

/// What can be read of a log; the end of a process that was killed may be missing. Throws std::runtime_error
/// where it is no such file.
SlotLog read_slot_log(const std::string& path);

}  // namespace tferry::trace
