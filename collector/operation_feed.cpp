#include "collector/operation_feed.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tferry::collector {

OperationFeed::~OperationFeed() {
  if (memory_ != nullptr) munmap(const_cast<void*>(memory_), bytes_);
}

bool OperationFeed::open(const std::string& run_directory) {
  const std::string path = run_directory + "/operations." + std::to_string(getpid());
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  struct stat facts{};
  void* memory = MAP_FAILED;
  if (fstat(file, &facts) == 0 && facts.st_size >= static_cast<off_t>(sizeof(trace::OperationLogHeader))) {
    bytes_ = static_cast<std::size_t>(facts.st_size);
    memory = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  const auto* header = static_cast<const trace::OperationLogHeader*>(memory);
  const std::uint64_t fit = (bytes_ - sizeof *header) / sizeof(trace::OperationEntry);
  if (header->magic != trace::kOperationLogMagic || header->version != trace::kOperationLogVersion ||
      header->entry_size != sizeof(trace::OperationEntry) || header->capacity == 0 ||
      header->capacity > fit) {
    return false;
  }
  header_ = header;
  entries_ = reinterpret_cast<const trace::OperationEntry*>(header + 1);
  return true;
}

}  // namespace tferry::collector
