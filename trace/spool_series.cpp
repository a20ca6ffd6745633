#include "trace/spool_series.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tferry::trace {
namespace {

constexpr std::size_t kEarlierFiles = 2;
constexpr std::int64_t kFewestBlocks = 4;  // of a file that is left early
constexpr int kMostTries = 100;            // names that are taken

std::int64_t clock_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t SpoolSeries::part() const noexcept {
  return clock_ns() / std::max<std::int64_t>(1, options_.keep_last_ns / 2);
}

SpoolFile::Created SpoolSeries::create(const std::string& stem, int number, const Options& options,
                                       std::string* error) noexcept {
  options_ = options;
  stem_ = stem;
  number_ = number;
  part_ = part();
  const bool one = options.keep_last_ns == 0 || number < 0;
  if (one) options_.keep_last_ns = 0;
  return file_->create(number < 0 ? stem : stem + std::to_string(number),
                       {.source = options.source,
                        .block_bytes = options.block_bytes,
                        .size_limit = one ? options.size_limit : 0,
                        .series = one ? SpoolFile::kNoSeries : SpoolFile::kNewSeries},
                       options.write, error);
}

bool SpoolSeries::due(std::size_t bytes) noexcept {
  if (options_.keep_last_ns == 0 || forgetful_) return false;
  if (part() != part_) return true;
  const bool too_large = options_.size_limit > 0 && own_blocks_ >= kFewestBlocks &&
                         file_->bytes() + static_cast<std::int64_t>(bytes) >
                             options_.size_limit / std::int64_t{kEarlierFiles + 1};
  shortened_ = shortened_ || too_large;
  return too_large;
}

bool SpoolSeries::write_block(BlockHeader header, std::byte* header_and_payload) noexcept {
  if (due(sizeof header + header.payload_bytes)) begin_next();
  if (!file_->write_block(header, header_and_payload)) return false;
  ++own_blocks_;
  if (options_.keep_last_ns == 0 || forgetful_) return true;
  try {
    lasting_.observe(std::span(header_and_payload + sizeof header, header.payload_bytes));
  } catch (const std::exception&) {
    forgetful_ = true;
  }
  return true;
}

void SpoolSeries::begin_next() noexcept {
  part_ = part();
  try {
    auto next = std::make_unique<SpoolFile>();
    auto created = SpoolFile::Created::kExists;
    for (int tries = 0; created == SpoolFile::Created::kExists && tries < kMostTries; ++tries) {
      created = next->create(stem_ + std::to_string(++number_),
                             {.source = options_.source,
                              .block_bytes = options_.block_bytes,
                              .size_limit = 0,
                              .series = file_->series()},
                             options_.write, nullptr);
    }
    if (created != SpoolFile::Created::kOk) return;
    if (!write_lasting(*next)) return next->remove();
    earlier_.push_back(file_->path());
    write_status(loss_, SpoolState::kClosed);
    std::copy(std::begin(loss_), std::end(loss_), std::begin(loss_before_));
    file_ = std::move(next);
    own_blocks_ = 0;
    while (earlier_.size() > kEarlierFiles) {
      unlink(earlier_.front().c_str());
      earlier_.pop_front();
    }
  } catch (const std::exception&) {
    forgetful_ = true;
  }
}

bool SpoolSeries::write_lasting(SpoolFile& file) {
  std::vector<std::byte> block(sizeof(BlockHeader) + options_.block_bytes);
  BlockHeader header;
  header.repeats = 1;
  bool written = true;
  const auto write = [&] {
    if (header.payload_bytes > 0) written = written && file.write_block(header, block.data());
    header.payload_bytes = header.record_count = 0;
    header.first_ns = header.last_ns = 0;
  };
  lasting_.for_each([&](std::span<const std::byte> record) {
    if (header.payload_bytes + record.size() > options_.block_bytes) write();
    std::copy(record.begin(), record.end(), block.begin() + sizeof header + header.payload_bytes);
    std::int64_t time_ns;
    std::memcpy(&time_ns, record.data() + sizeof(RecordHeader), sizeof time_ns);
    header.first_ns = header.record_count == 0 ? time_ns : std::min(header.first_ns, time_ns);
    header.last_ns = header.record_count == 0 ? time_ns : std::max(header.last_ns, time_ns);
    header.payload_bytes += static_cast<std::uint32_t>(record.size());
    ++header.record_count;
  });
  write();
  return written;
}

void SpoolSeries::write_status(std::span<const SpoolLoss, kMaxRecordKinds> loss, SpoolState state) noexcept {
  SpoolLoss own[kMaxRecordKinds];
  for (std::size_t kind = 0; kind < loss.size(); ++kind) {
    loss_[kind] = loss[kind];
    const std::int64_t count = loss[kind].count - loss_before_[kind].count;
    if (count == 0) continue;
    own[kind] = loss[kind];
    own[kind].count = count;
    if (loss_before_[kind].count > 0) own[kind].first_ns = loss_before_[kind].last_ns;
  }
  file_->write_status(own, state);
}

}  // namespace tferry::trace
