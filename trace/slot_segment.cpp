#include "trace/slot_segment.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tferry::trace {
namespace {

constexpr std::size_t kBytes = sizeof(SlotSegmentLayout);
constexpr std::int64_t kShortestLease = 100'000, kLongestLease = 60'000'000'000;

SlotSegmentLayout* map(int file) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<SlotSegmentLayout*>(memory);
}

std::string failure(const std::string& what, const std::string& path) {
  return what + " " + path + ": " + std::strerror(errno);
}

}  // namespace

void SlotSegment::begin(SlotSegmentLayout& layout, SlotOrder order, std::int64_t lease_ns) {
  layout.version = kSlotSegmentVersion;
  layout.size = kBytes;
  layout.lease_ns = lease_ns;
  layout.order = static_cast<std::uint32_t>(order);
  layout.magic.store(kSlotSegmentMagic, std::memory_order_release);
}

std::unique_ptr<SlotSegment> SlotSegment::create(const std::string& path, SlotOrder order,
                                                 std::int64_t lease_ns, std::string& error) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    error = failure("cannot make", path);
    return nullptr;
  }
  // Room is taken now: a full file system would end the ranks at their first store.
  const int full = ::posix_fallocate(file, 0, kBytes);
  if (full != 0) errno = full;
  SlotSegmentLayout* layout = full == 0 ? map(file) : nullptr;
  if (layout == nullptr) {
    error = failure("cannot make", path);
    ::close(file);
    ::unlink(path.c_str());
    return nullptr;
  }
  ::close(file);
  begin(*layout, order, lease_ns);
  return std::unique_ptr<SlotSegment>(new SlotSegment(layout));
}

std::unique_ptr<SlotSegment> SlotSegment::open(const std::string& path, std::string& error) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    error = failure("cannot open", path);
    return nullptr;
  }
  struct stat status{};
  const bool ours = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                    status.st_size == static_cast<off_t>(kBytes);
  SlotSegmentLayout* layout = ours ? map(file) : nullptr;
  ::close(file);
  if (layout == nullptr) {
    error = path + " is not what the ranks of a job share";
    return nullptr;
  }
  auto segment = std::unique_ptr<SlotSegment>(new SlotSegment(layout));
  if (layout->magic.load(std::memory_order_acquire) != kSlotSegmentMagic ||
      layout->version != kSlotSegmentVersion || layout->size != kBytes || layout->lease_ns < kShortestLease ||
      layout->lease_ns > kLongestLease) {
    error = path + " is not what the ranks of a job share, or another version's";
    return nullptr;
  }
  return segment;
}

std::unique_ptr<SlotSegment> SlotSegment::in_memory(SlotOrder order, std::int64_t lease_ns) {
  SlotSegmentLayout* layout = map(-1);
  if (layout == nullptr) return nullptr;
  begin(*layout, order, lease_ns);
  return std::unique_ptr<SlotSegment>(new SlotSegment(layout));
}

SlotSegment::~SlotSegment() { ::munmap(layout_, kBytes); }

SlotOrder SlotSegment::order() const {
  switch (static_cast<SlotOrder>(layout_->order)) {
    case SlotOrder::kRotating:
      return SlotOrder::kRotating;
    case SlotOrder::kDeadline:
      return SlotOrder::kDeadline;
    case SlotOrder::kBehind:
      return SlotOrder::kBehind;
    case SlotOrder::kFixed:
      break;
  }
  return SlotOrder::kFixed;
}

std::uint64_t slot_link_number(const std::string& name) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const unsigned char letter : name) hash = (hash ^ letter) * 1099511628211ULL;
  return hash != 0 ? hash : 1;
}

}  // namespace tferry::trace
