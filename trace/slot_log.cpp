#include "trace/slot_log.hpp"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace tferry::trace {
namespace {

constexpr std::uint64_t kMagic = 0x4c53'5252'4546'5401;  // "\1TFERRSL"

bool write_all(int file, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file, at, bytes);
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool makes_sense(const SlotEntry& entry) {
  return entry.link != 0 && entry.direction <= 1 && entry.use <= SlotUse::kExpired && entry.device >= 0 &&
         entry.rank >= -1 && entry.asked_ns >= 0 && entry.granted_ns >= entry.asked_ns &&
         entry.ended_ns >= entry.granted_ns && entry.bytes < (std::uint64_t{1} << 48) &&
         entry.round < (std::uint64_t{1} << 48);
}

}  // namespace

std::unique_ptr<SlotLogWriter> SlotLogWriter::create(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  if (!write_all(file, &kMagic, sizeof kMagic)) {
    ::close(file);
    return nullptr;
  }
  return std::unique_ptr<SlotLogWriter>(new SlotLogWriter(file));
}

SlotLogWriter::~SlotLogWriter() {
  flush();
  if (file_ >= 0) ::close(file_);
}

void SlotLogWriter::append(const SlotEntry& entry) {
  if (file_ < 0 || written_ >= kMostEntries) return;
  waiting_[count_++] = entry;
  if (++written_ == kMostEntries || count_ == waiting_.size()) flush();
}

void SlotLogWriter::flush() {
  if (file_ < 0 || count_ == 0) return;
  if (!write_all(file_, waiting_.data(), count_ * sizeof(SlotEntry))) {
    ::close(file_);
    file_ = -1;
  }
  count_ = 0;
}

SlotLog read_slot_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t magic = 0;
  if (!file.read(reinterpret_cast<char*>(&magic), sizeof magic) || magic != kMagic)
    throw std::runtime_error(path + " is no log of turns");
  SlotLog log;
  for (SlotEntry entry; file.read(reinterpret_cast<char*>(&entry), sizeof entry);) {
    if (log.entries.size() + log.damaged == SlotLogWriter::kMostEntries) break;
    if (makes_sense(entry))
      log.entries.push_back(entry);
    else
      ++log.damaged;
  }
  log.full = log.entries.size() + log.damaged == SlotLogWriter::kMostEntries;
  return log;
}

}  // namespace tferry::trace
