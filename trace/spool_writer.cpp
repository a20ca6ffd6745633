#include "trace/spool_writer.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

namespace tferry::trace {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSeenStrings = 1 << 14;
constexpr std::size_t kSeenProbes = 4;
constexpr std::size_t kMaxStringBytes = 16 << 10;
constexpr int kMaxNames = 1000;
constexpr std::size_t kAccessesPerRecord = 100;  // fits the smallest block

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

void fail(std::string* error, const std::string& what, int error_number) {
  if (error) *error = what + ": " + std::strerror(error_number);
}

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

std::string_view source_name(SpoolSource source) {
  switch (source) {
    case SpoolSource::kRuntime:
      return "runtime";
    case SpoolSource::kCollector:
      return "collector";
    case SpoolSource::kSampler:
      return "sampler";
    case SpoolSource::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

void SpoolWriter::BlockQueue::push(Block* block) noexcept {
  block->next = nullptr;
  (tail ? tail->next : head) = block;
  tail = block;
}

SpoolWriter::Block* SpoolWriter::BlockQueue::pop() noexcept {
  Block* block = head;
  if (block) head = block->next;
  if (!head) tail = nullptr;
  return block;
}

std::int64_t SpoolWriter::now_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

SpoolWriter::SpoolWriter() noexcept {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&wake_helper_, &attributes);
  pthread_condattr_destroy(&attributes);
}

std::unique_ptr<SpoolWriter> SpoolWriter::open(const std::string& path, const SpoolOptions& options,
                                               std::string* error) noexcept {
  std::unique_ptr<SpoolWriter> writer(new (std::nothrow) SpoolWriter);
  if (!writer) {
    fail(error, "cannot open spool " + path, ENOMEM);
    return nullptr;
  }
  return writer->start(path, -1, options, error) == SpoolFile::Created::kOk ? std::move(writer) : nullptr;
}

std::unique_ptr<SpoolWriter> SpoolWriter::open_in(const std::string& directory, const SpoolOptions& options,
                                                  std::string* error) noexcept {
  const std::string stem =
      directory + "/spool." + std::to_string(getpid()) + "." + std::string(source_name(options.source)) + ".";
  for (int number = 0; number < kMaxNames; ++number) {
    std::unique_ptr<SpoolWriter> writer(new (std::nothrow) SpoolWriter);
    if (!writer) break;
    const SpoolFile::Created created = writer->start(stem, number, options, error);
    if (created == SpoolFile::Created::kOk) return writer;
    if (created == SpoolFile::Created::kFailed) return nullptr;
  }
  fail(error, "cannot create spool " + stem + "N", EEXIST);
  return nullptr;
}

SpoolFile::Created SpoolWriter::start(const std::string& stem, int number, const SpoolOptions& options,
                                      std::string* error) noexcept {
  options_ = options;
  options_.block_bytes = static_cast<std::uint32_t>(
      round_up(std::clamp<std::size_t>(options.block_bytes, kPage, kMaxBlockBytes), kPage));
  options_.block_count = std::max(options.block_count, 2u);
  if (!options_.write) options_.write = ::pwrite;
  path_ = number < 0 ? stem : stem + std::to_string(number);
  pid_ = getpid();

  const std::size_t slot = sizeof(BlockHeader) + options_.block_bytes;
  memory_bytes_ = kPage + round_up(slot * options_.block_count, kPage);
  void* memory =
      mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  blocks_.reset(new (std::nothrow) Block[options_.block_count]);
  seen_strings_.reset(new (std::nothrow) std::atomic<StringId>[kSeenStrings]());
  if (memory == MAP_FAILED || !blocks_ || !seen_strings_) {
    if (memory != MAP_FAILED) munmap(memory, memory_bytes_);
    fail(error, "cannot allocate the buffers of spool " + path_, ENOMEM);
    return SpoolFile::Created::kFailed;
  }
  memory_ = static_cast<std::byte*>(memory);
#ifdef MADV_WIPEONFORK
  wiped_on_fork_ = madvise(memory, kPage, MADV_WIPEONFORK) == 0;
#endif
  alive_ = new (memory) std::atomic<std::uint64_t>(1);
  for (std::uint32_t i = 0; i < options_.block_count; ++i) {
    blocks_[i].payload = memory_ + kPage + slot * i + sizeof(BlockHeader);
    free_.push(&blocks_[i]);
  }
  current_ = free_.pop();

  const SpoolFile::Created created = file_.create(stem, number,
                                                  {.source = options_.source,
                                                   .block_bytes = options_.block_bytes,
                                                   .size_limit = options_.size_limit,
                                                   .keep_last_ns = options_.keep_last_ns,
                                                   .write = options_.write},
                                                  error);
  if (created != SpoolFile::Created::kOk) return created;

  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int thread_error = pthread_create(&helper_, nullptr, helper_entry, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  helper_runs_ = thread_error == 0;
  if (!helper_runs_) {
    file_.remove();
    fail(error, "cannot start the helper thread of spool " + path_, thread_error);
    return SpoolFile::Created::kFailed;
  }
  return SpoolFile::Created::kOk;
}

SpoolWriter::~SpoolWriter() {
  // A child must not join a thread that it does not have, nor take a lock that may have been held at the
  // fork.
  const bool mine = !alive_ || owned();
  if (mine) close();
  if (memory_) munmap(memory_, memory_bytes_);
  if (mine) {
    pthread_cond_destroy(&wake_helper_);
    pthread_mutex_destroy(&mutex_);
    pthread_mutex_destroy(&file_mutex_);
  }
}

bool SpoolWriter::owned() const noexcept {
  if (alive_->load(std::memory_order_relaxed) == 0) return false;
  return wiped_on_fork_ || getpid() == pid_;
}

bool SpoolWriter::append_bytes(RecordKind kind, std::span<const std::byte> fixed,
                               std::span<const std::byte> variable) noexcept {
  if (!owned()) return false;
  std::int64_t time_ns;
  std::memcpy(&time_ns, fixed.data(), sizeof time_ns);
  const std::size_t size = sizeof(RecordHeader) + fixed.size() + variable.size();
  const std::size_t padded = round_up(size, 8);
  const RecordHeader header{kind, static_cast<std::uint16_t>(fixed.size()), static_cast<std::uint32_t>(size)};

  Lock lock(mutex_);
  if (state() != SpoolState::kRunning || padded > options_.block_bytes || !make_room(padded)) {
    count_loss(kind, time_ns);
    return false;
  }
  std::byte* out = current_->payload + current_->used;
  std::memcpy(out, &header, sizeof header);
  std::memcpy(out + sizeof header, fixed.data(), fixed.size());
  if (!variable.empty()) std::memcpy(out + sizeof header + fixed.size(), variable.data(), variable.size());
  std::memset(out + size, 0, padded - size);
  current_->first_ns = current_->records == 0 ? time_ns : std::min(current_->first_ns, time_ns);
  current_->last_ns = current_->records == 0 ? time_ns : std::max(current_->last_ns, time_ns);
  current_->used += static_cast<std::uint32_t>(padded);
  ++current_->records;
  return true;
}

bool SpoolWriter::make_room(std::size_t size) noexcept {
  if (current_ && current_->used + size <= options_.block_bytes) return true;
  if (current_) {
    full_.push(current_);
    pthread_cond_signal(&wake_helper_);
  }
  current_ = free_.pop();
  return current_ != nullptr;
}

void SpoolWriter::count_loss(RecordKind kind, std::int64_t time_ns) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  SpoolLoss& loss = loss_[index < kMaxRecordKinds ? index : 0];
  loss.first_ns = loss.count == 0 ? time_ns : std::min(loss.first_ns, time_ns);
  loss.last_ns = loss.count == 0 ? time_ns : std::max(loss.last_ns, time_ns);
  ++loss.count;
  status_dirty_ = true;
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

void SpoolWriter::count_block_as_lost(const Block& block) noexcept {
  for (std::uint32_t at = 0; at + sizeof(RecordHeader) < block.used;) {
    RecordHeader header;
    std::int64_t time_ns;
    std::memcpy(&header, block.payload + at, sizeof header);
    std::memcpy(&time_ns, block.payload + at + sizeof header, sizeof time_ns);
    count_loss(header.kind, time_ns);
    at += static_cast<std::uint32_t>(round_up(header.size, 8));
  }
}

bool SpoolWriter::append_accesses(std::int64_t time_ns, std::uint64_t operation,
                                  std::span<const AccessEntry> entries) noexcept {
  bool all = true;
  do {
    const std::span<const AccessEntry> part = entries.first(std::min(entries.size(), kAccessesPerRecord));
    all = append(AccessRecord{time_ns, operation, part.size()}, std::as_bytes(part)) && all;
    entries = entries.subspan(part.size());
  } while (!entries.empty());
  return all;
}

StringId SpoolWriter::intern(std::string_view text) noexcept {
  if (text.empty()) return 0;
  text = text.substr(0, kMaxStringBytes);
  // 0 stands for "no string", so the one hash that collides with it is moved.
  const StringId id = std::max<StringId>(XXH3_64bits(text.data(), text.size()), 1);
  std::size_t place = id % kSeenStrings;
  for (std::size_t probe = 0; probe < kSeenProbes; ++probe) {
    const std::size_t slot = (id + probe) % kSeenStrings;
    const StringId seen = seen_strings_[slot].load(std::memory_order_relaxed);
    if (seen == id) return id;
    if (seen == 0) {
      place = slot;
      break;
    }
  }
  // Two threads may both write the string, and a crowded table forgets one: readers take repetitions.
  if (append(StringRecord{now_ns(), id, text.size()}, std::as_bytes(std::span(text)))) {
    seen_strings_[place].store(id, std::memory_order_relaxed);
  }
  return id;
}

void SpoolWriter::flush() noexcept {
  if (owned()) drain();
}

void SpoolWriter::close() noexcept {
  if (!alive_ || !owned() || !helper_runs_) return;
  {
    Lock lock(mutex_);
    closing_ = true;
    pthread_cond_signal(&wake_helper_);
  }
  pthread_join(helper_, nullptr);
  helper_runs_ = false;
  drain();
  Lock file_lock(file_mutex_);
  {
    Lock lock(mutex_);
    if (state() == SpoolState::kRunning) state_.store(SpoolState::kClosed, std::memory_order_release);
    status_dirty_ = true;
  }
  write_status();
}

void* SpoolWriter::helper_entry(void* self) {
  static_cast<SpoolWriter*>(self)->run_helper();
  return nullptr;
}

void SpoolWriter::run_helper() noexcept {
  for (;;) {
    const std::int64_t due = now_ns() + options_.flush_interval_ns;
    timespec until{};
    until.tv_sec = due / 1'000'000'000;
    until.tv_nsec = due % 1'000'000'000;
    {
      Lock lock(mutex_);
      while (!closing_ && !full_.head) {
        if (pthread_cond_timedwait(&wake_helper_, &mutex_, &until) != 0) break;
      }
      if (closing_) return;
    }
    drain();
  }
}

void SpoolWriter::drain() noexcept {
  Lock file_lock(file_mutex_);
  // What was appended before the call is in at most all the blocks, oldest first; later records can wait.
  bool more = true;
  for (std::uint32_t left = options_.block_count; more && left > 0; --left) {
    Block* block;
    {
      Lock lock(mutex_);
      block = full_.pop();
      if (!block) {
        more = false;
        if (current_ && current_->used > 0) {
          block = current_;
          current_ = free_.pop();
        }
      }
    }
    if (!block) break;
    write_block(*block);
    Lock lock(mutex_);
    block->used = block->records = 0;
    free_.push(block);
  }
  write_status();
}

void SpoolWriter::write_block(const Block& block) noexcept {
  BlockHeader header;
  header.payload_bytes = block.used;
  header.record_count = block.records;
  header.first_ns = block.first_ns;
  header.last_ns = block.last_ns;
  if (file_.write_block(header, block.payload - sizeof header)) {
    if (file_.shortened() && !std::exchange(shortened_told_, true)) tell_shortened();
    return;
  }
  Lock lock(mutex_);
  state_.store(file_.state(), std::memory_order_release);
  count_block_as_lost(block);
}

void SpoolWriter::tell_shortened() noexcept {
  LossRecord loss;
  loss.time_ns = loss.end_ns = now_ns();
  loss.count = -1;
  loss.detail = intern("less than the last while is kept: that would be larger than the size limit");
  loss.reason = LossReason::kSizeLimit;
  append(loss);
}

void SpoolWriter::write_status() noexcept {
  SpoolLoss loss[kMaxRecordKinds];
  {
    Lock lock(mutex_);
    if (!status_dirty_) return;
    status_dirty_ = false;
    std::copy(std::begin(loss_), std::end(loss_), loss);
  }
  file_.write_status(loss, state());
}

}  // namespace tferry::trace
