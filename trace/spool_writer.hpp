#pragma once

#include "trace/spool_series.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace tferry::trace {

struct SpoolOptions {
  SpoolSource source = SpoolSource::kUnknown;
  std::uint32_t block_bytes = 256 << 10;  ///< 4 KiB to 16 MiB, rounded up to whole pages
  std::uint32_t block_count = 32;         ///< blocks held in memory; all are touched at open
  std::int64_t flush_interval_ns =
      200'000'000;                   ///< a record is in the file at most this long after it was appended
  std::int64_t size_limit = 0;       ///< bytes of the file, 0: none
  std::int64_t keep_last_ns = 0;     ///< only the last while is kept (spool_series.hpp); 0: everything
  SpoolFile::Write write = nullptr;  ///< pwrite unless a test injects faults
};

/// Appends records to a spool, from any thread of a job.
///
/// Append copies the record into a preallocated block under a short lock: no allocation, no system call, no
/// exception. A helper thread of its own (all signals blocked) writes blocks that are full, and whatever
/// there is every flush_interval_ns, so that SIGKILL costs at most that. When all blocks are full the record
/// is dropped and counted, the job never waits for the disk. When the disk is full, or the size limit is
/// reached, the spool stops, keeps what it has and says so in its status page.
///
/// After fork() the child's copy is dead: it neither appends, flushes nor writes (memory that the kernel
/// wipes on fork tells, so a raw clone() is noticed too; before Linux 4.14 the process id does). A child that
/// wants to be recorded opens a spool of its own.
///
/// Threads: append, intern, flush and the getters from any thread at any time; close and the destructor once,
/// after which append does nothing. None of it is safe inside a signal handler.
class SpoolWriter {
 public:
  /// Creates `path`, which must not exist. Null on failure, with a sentence in `error` if that is given.
  static std::unique_ptr<SpoolWriter> open(const std::string& path, const SpoolOptions& options,
                                           std::string* error = nullptr) noexcept;
  /// The same under the first free name in `directory`: spool.PID.SOURCE.N, N from 0 (a process that calls
  /// exec keeps its id).
  static std::unique_ptr<SpoolWriter> open_in(const std::string& directory, const SpoolOptions& options,
                                              std::string* error = nullptr) noexcept;
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  /// Appends one record; false if it was dropped (and counted).
  template <SpoolRecord Record>
  bool append(const Record& record) noexcept {
    return append_bytes(Record::kKind, std::as_bytes(std::span(&record, 1)), {});
  }
  /// The same with a variable part behind it.
  template <SpoolRecord Record>
  bool append(const Record& record, std::span<const std::byte> variable) noexcept {
    return append_bytes(Record::kKind, std::as_bytes(std::span(&record, 1)), variable);
  }
  /// Appends the accesses of one operation, in several records if they are many.
  bool append_accesses(std::int64_t time_ns, std::uint64_t operation,
                       std::span<const AccessEntry> entries) noexcept;

  /// The id of a string; appends its StringRecord unless it was appended lately. Hashes the string: cache the
  /// id where that matters. Strings are cut at 16 KiB. The empty string has id 0.
  StringId intern(std::string_view text) noexcept;

  /// Writes everything appended before the call. Returns when the kernel has it.
  void flush() noexcept;
  /// Flushes, notes the end in the status page and stops the helper thread.
  void close() noexcept;

  SpoolState state() const noexcept { return state_.load(std::memory_order_acquire); }
  std::int64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  const std::string& path() const noexcept { return path_; }

  /// Nanoseconds of the clock that all records use.
  static std::int64_t now_ns() noexcept;

 private:
  struct Block {
    Block* next = nullptr;
    std::byte* payload = nullptr;
    std::uint32_t used = 0;
    std::uint32_t records = 0;
    std::int64_t first_ns = 0, last_ns = 0;
  };
  struct BlockQueue {
    Block* head = nullptr;
    Block* tail = nullptr;
    void push(Block* block) noexcept;
    Block* pop() noexcept;
  };

  SpoolWriter() noexcept;
  SpoolFile::Created start(const std::string& stem, int number, const SpoolOptions& options,
                           std::string* error) noexcept;
  bool owned() const noexcept;
  bool append_bytes(RecordKind kind, std::span<const std::byte> fixed,
                    std::span<const std::byte> variable) noexcept;
  bool make_room(std::size_t size) noexcept;
  void count_loss(RecordKind kind, std::int64_t time_ns) noexcept;
  void count_block_as_lost(const Block& block) noexcept;
  void drain() noexcept;
  void write_block(const Block& block) noexcept;
  void write_status() noexcept;
  void tell_shortened() noexcept;
  void run_helper() noexcept;
  static void* helper_entry(void* self);

  SpoolOptions options_;
  std::string path_;
  pid_t pid_ = 0;
  std::byte* memory_ = nullptr;  ///< block payloads, each behind the space for its header
  std::size_t memory_bytes_ = 0;
  std::atomic<std::uint64_t>* alive_ = nullptr;  ///< wiped to 0 in children; in a page of its own
  bool wiped_on_fork_ = false;
  std::unique_ptr<Block[]> blocks_;
  std::unique_ptr<std::atomic<StringId>[]> seen_strings_;

  pthread_t helper_ = {};
  bool helper_runs_ = false;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;       ///< block queues, counters
  pthread_mutex_t file_mutex_ = PTHREAD_MUTEX_INITIALIZER;  ///< the file; taken before mutex_
  pthread_cond_t wake_helper_;
  SpoolSeries file_;             ///< under file_mutex_
  bool shortened_told_ = false;  ///< under file_mutex_
  bool closing_ = false;
  Block* current_ = nullptr;
  BlockQueue free_, full_;
  SpoolLoss loss_[kMaxRecordKinds];
  bool status_dirty_ = false;
  std::atomic<SpoolState> state_ = SpoolState::kRunning;
  std::atomic<std::int64_t> dropped_ = 0;
};

}  // namespace tferry::trace
