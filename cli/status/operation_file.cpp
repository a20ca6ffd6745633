#include "cli/status/operation_file.hpp"

#include "cli/status/bounded_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tferry::cli {
namespace {

using trace::OperationEntry;
using trace::OperationLogHeader;

/// Entries first, first + 1, ... of the ring into `entries`; false if the file has become shorter.
bool append_slots(const std::filesystem::path& path, std::uint64_t first, std::size_t count,
                  std::vector<OperationEntry>& entries) {
  if (count == 0) return true;
  const BoundedFile file(path, count * sizeof(OperationEntry),
                         sizeof(OperationLogHeader) + first * sizeof(OperationEntry));
  if (file.bytes().size() != count * sizeof(OperationEntry)) return false;
  const std::size_t before = entries.size();
  entries.resize(before + count);
  std::memcpy(entries.data() + before, file.bytes().data(), file.bytes().size());
  return true;
}

}  // namespace

OperationLog read_operation_file(const std::filesystem::path& path, std::size_t limit) {
  const auto defective = [](std::string why) { return OperationLog{{}, 0, std::move(why)}; };
  const BoundedFile file(path, sizeof(OperationLogHeader));
  if (!file.ok()) return defective(file.defect());
  if (file.bytes().size() < sizeof(OperationLogHeader)) return defective("shorter than its header");
  const auto field = [&file]<typename T>(std::size_t offset, T value) {
    std::memcpy(&value, file.bytes().data() + offset, sizeof value);
    return value;
  };
  if (field(offsetof(OperationLogHeader, magic), std::uint64_t{}) != trace::kOperationLogMagic) {
    return defective("not an operation log");
  }
  const auto version = field(offsetof(OperationLogHeader, version), std::uint32_t{});
  if (version != trace::kOperationLogVersion ||
      field(offsetof(OperationLogHeader, entry_size), std::uint32_t{}) != sizeof(OperationEntry)) {
    return defective(fmt::format("written by another version of the runtime library (version {})", version));
  }
  const auto capacity = field(offsetof(OperationLogHeader, capacity), std::uint64_t{});
  const std::uint64_t slots = (file.file_size() - sizeof(OperationLogHeader)) / sizeof(OperationEntry);
  if (capacity == 0 || capacity > slots) {
    return defective(fmt::format("claims {} entries where {} fit", capacity, slots));
  }
  const auto written = field(offsetof(OperationLogHeader, written), std::uint64_t{});
  const std::uint64_t count = std::min({written, capacity, static_cast<std::uint64_t>(limit)});
  OperationLog log;
  log.lost = written - count;
  const std::uint64_t first = log.lost % capacity;
  const std::uint64_t until_end = std::min(count, capacity - first);
  if (!append_slots(path, first, until_end, log.entries) ||
      !append_slots(path, 0, count - until_end, log.entries)) {
    return defective("became shorter while it was read");
  }
  return log;
}

}  // namespace tferry::cli
