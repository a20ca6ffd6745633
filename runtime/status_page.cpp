#include "runtime/status_page.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace tferry::runtime {
namespace {

constexpr std::uint64_t kLoggedOperations = 1U << 18;

/// `size` bytes of shared mapping over a new private file, or of anonymous memory when the file cannot be
/// had.
void* map_file(const std::string& path, std::size_t size) {
  if (!path.empty()) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0) {
      void* memory = MAP_FAILED;
      // Room is taken now: a page that a full file system cannot back would kill the job when it is touched.
      if (posix_fallocate(file, 0, static_cast<off_t>(size)) == 0) {
        memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      }
      close(file);
      if (memory != MAP_FAILED) return memory;
    }
  }
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

std::size_t log_size() {
  return sizeof(trace::OperationLogHeader) + kLoggedOperations * sizeof(trace::OperationEntry);
}

}  // namespace

std::int64_t StatusPage::now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void StatusPage::open(const std::string& directory) {
  const std::string suffix = std::to_string(getpid());
  static trace::JobStatus fallback;
  void* page = map_file(directory.empty() ? "" : directory + "/status." + suffix, sizeof(trace::JobStatus));
  job_ = page != nullptr ? new (page) trace::JobStatus : &fallback;
  job_->size = sizeof(trace::JobStatus);
  job_->pid = getpid();
  job_->started_ns = now_ns();
  std::snprintf(job_->command, sizeof job_->command, "%s", program_invocation_short_name);
  if (void* log = map_file(directory.empty() ? "" : directory + "/operations." + suffix, log_size())) {
    log_ = new (log) trace::OperationLogHeader;
    log_->capacity = kLoggedOperations;
    entries_ = reinterpret_cast<trace::OperationEntry*>(log_ + 1);
  }
}

void StatusPage::detach() {
  static trace::JobStatus unread;
  job_ = &unread;
  log_ = nullptr;
}

void StatusPage::reach(trace::JobStage stage) { raise_to(job_->stage, static_cast<std::int64_t>(stage)); }

void StatusPage::say(int level, const char* format, ...) {
  char text[sizeof job_->message];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (level == 0) std::memcpy(job_->message, text, sizeof text);
  if (level <= log_level_) {
    char line[sizeof text + 16];
    const int length = std::snprintf(line, sizeof line, "tferry: %s\n", text);
    if (length > 0) [[maybe_unused]]
      const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  }
}

void StatusPage::log_operation(int device, std::uint32_t signature, bool waited, std::int64_t fetched,
                               std::int64_t parked) {
  if (log_ == nullptr) return;
  const std::uint64_t number = log_->written.load(std::memory_order_relaxed);
  trace::OperationEntry& entry = entries_[number % kLoggedOperations];
  entry.time_ns = now_ns();
  entry.signature = signature;
  entry.device = static_cast<std::uint16_t>(device);
  entry.flags = waited ? 1 : 0;
  entry.fetched_kib = static_cast<std::uint32_t>(fetched >> 10);
  entry.parked_kib = static_cast<std::uint32_t>(parked >> 10);
  log_->written.store(number + 1, std::memory_order_release);
}

}  // namespace tferry::runtime
