#include "runtime/access_probe.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

namespace tferry::runtime {
namespace {

using trace::AccessKind;

constexpr std::size_t kExtent = std::size_t{2} << 20;
constexpr std::size_t kMostBytes = std::size_t{16} << 30;  // of one launch

/// Another value at every byte.
void fill_with_others(std::byte* data, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) data[i] = ~data[i];
}

/// The extents that differ, from the first to the last: offset and bytes; none where nothing does.
std::optional<std::pair<std::size_t, std::size_t>> changed_range(const std::byte* before,
                                                                 const std::byte* after, std::size_t size) {
  std::optional<std::pair<std::size_t, std::size_t>> range;
  for (std::size_t at = 0; at < size; at += kExtent) {
    const std::size_t length = std::min(kExtent, size - at);
    if (std::memcmp(before + at, after + at, length) == 0) continue;
    const std::size_t begin = range ? range->first : at;
    range = {begin, at + length - begin};
  }
  return range;
}

bool holds_address(const std::byte* data, std::size_t size,
                   const std::function<bool(std::uint64_t)>& is_address) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= size; at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    // Addresses have nothing in their upper 16 bits, and something below.
    if (word >> 48 == 0 && word >> 32 != 0 && is_address(word)) return true;
  }
  return false;
}

}  // namespace

void AccessProbe::Buffer::assign(const Buffer& other) {
  resize(other.size());
  if (size_ > 0) std::memcpy(data(), other.data(), size_);
}

bool AccessProbe::Buffer::same(const Buffer& other) const {
  return size_ == other.size_ && (size_ == 0 || std::memcmp(data(), other.data(), size_) == 0);
}

std::uint64_t AccessProbe::full_key(std::uint64_t key, std::span<const Region> regions) const {
  // Which of them are one does not stand in the key: each region is another allocation.
  std::vector<std::uint64_t> words = {key};
  for (const Region& region : regions) words.push_back(region.bytes);
  return XXH3_64bits(words.data(), words.size() * sizeof(std::uint64_t));
}

CUresult AccessProbe::run(std::uint64_t key, std::span<const Region> regions,
                          std::vector<trace::AccessEntry>& accesses, CUstream stream,
                          const std::function<bool(std::uint64_t)>& is_address, const Launch& launch) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) {
    const auto hold = beside();
    return launch(stream);
  }
  const std::uint64_t full = full_key(key, regions);
  if (const auto known = known_.find(full); known != known_.end()) {
    const CUresult result = launch(stream);
    if (result == CUDA_SUCCESS) tell(known->second, regions, accesses);
    return result;
  }
  std::size_t bytes = 0;
  for (const Region& region : regions) bytes += region.bytes;
  if (bytes > kMostBytes && !std::exchange(too_large_told_, true))
    status_.say(1, "access direction: a launch names %zu bytes, too many to try", bytes);
  if (bytes > kMostBytes || regions.empty()) return launch(stream);
  return try_it(full, regions, accesses, stream, is_address, launch);
}

CUresult AccessProbe::try_it(std::uint64_t full_key, std::span<const Region> regions,
                             std::vector<trace::AccessEntry>& accesses, CUstream stream,
                             const std::function<bool(std::uint64_t)>& is_address, const Launch& launch) {
  std::optional<CUresult> launched;
  try {
    std::optional<std::uint64_t> seen;
    if (const Alone now = alone()) seen = others();
    Contents &before = before_, &after = after_;
    if (!seen || own_stream() == nullptr || !settle() || !read(regions, before)) return launch(stream);
    launched = launch(stream);
    if (*launched != CUDA_SUCCESS || !settle() || !read(regions, after)) return *launched;
    Findings findings(regions.size());
    bool written = false;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const auto range = changed_range(before[i].data(), after[i].data(), regions[i].bytes);
      findings[i].kind = range ? AccessKind::kReadWrite : AccessKind::kRead;
      if (range) {
        findings[i].offset = static_cast<std::int64_t>(range->first);
        findings[i].bytes = static_cast<std::int64_t>(range->second);
      }
      written = written || range.has_value();
    }
    const Alone now = alone();
    if (!now || others() != *seen) return *launched;
    ++tried_;
    bool pointed = false;
    for (std::size_t i = 0; i < regions.size() && written && !pointed; ++i)
      pointed = holds_address(before[i].data(), regions[i].bytes, is_address);
    if (written && !pointed) {
      find_overwritten(regions, before, after, launch, findings);
      if (!put_back(regions, after)) status_.say(0, "access direction: contents could not be put back");
    }
    tell(findings, regions, accesses);
    known_.emplace(full_key, std::move(findings));
  } catch (const std::bad_alloc&) {
    if (!launched) return launch(stream);
  }
  return *launched;
}

void AccessProbe::tell(const Findings& findings, std::span<const Region> regions,
                       std::vector<trace::AccessEntry>& accesses) {
  for (trace::AccessEntry& entry : accesses) {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (regions[i].allocation != entry.allocation || entry.known_by == trace::KnownBy::kTable) continue;
      entry.kind = findings[i].kind;
      entry.known_by = trace::KnownBy::kDirection;
      if (findings[i].kind == AccessKind::kRead) break;
      entry.offset = findings[i].offset;
      entry.bytes = findings[i].bytes;
      break;
    }
  }
}

bool AccessProbe::settle() const { return driver_.cuCtxSynchronize() == CUDA_SUCCESS; }

CUstream AccessProbe::own_stream() {
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS || driver_.cuCtxGetDevice(&device) != CUDA_SUCCESS)
    return nullptr;
  CUstream& stream = streams_[context];
  if (stream == nullptr && driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS)
    recorder_.own_stream(stream, device);
  return stream;
}

bool AccessProbe::read(std::span<const Region> regions, Contents& contents) {
  if (contents.size() < regions.size()) contents.resize(regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    contents[i].resize(regions[i].bytes);
    if (driver_.cuMemcpyDtoHAsync_v2(contents[i].data(), regions[i].address, regions[i].bytes,
                                     own_stream()) != CUDA_SUCCESS)
      return false;
  }
  return driver_.cuStreamSynchronize(own_stream()) == CUDA_SUCCESS;
}

bool AccessProbe::write(std::span<const Region> regions, const Contents& contents) {
  bool written = true;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    written = driver_.cuMemcpyHtoDAsync_v2(regions[i].address, contents[i].data(), regions[i].bytes,
                                           own_stream()) == CUDA_SUCCESS &&
              written;
  }
  return driver_.cuStreamSynchronize(own_stream()) == CUDA_SUCCESS && written;
}

bool AccessProbe::put_back(std::span<const Region> regions, const Contents& contents) {
  constexpr int kTries = 3;
  for (int tries = 0; tries < kTries; ++tries) {
    if (write(regions, contents)) return true;
  }
  bool written = true;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    bool one = false;
    for (int tries = 0; tries < kTries && !one; ++tries) {
      one = driver_.cuMemcpyHtoD_v2(regions[i].address, contents[i].data(), regions[i].bytes) == CUDA_SUCCESS;
    }
    written = written && one;
  }
  return written && driver_.cuCtxSynchronize() == CUDA_SUCCESS;
}

bool AccessProbe::replay(std::span<const Region> regions, const Contents& before,
                         const std::vector<bool>& fill, Contents& result, const Launch& launch) {
  if (result.size() < regions.size()) result.resize(regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    result[i].assign(before[i]);
    if (fill[i]) fill_with_others(result[i].data(), result[i].size());
  }
  return write(regions, result) && launch(own_stream()) == CUDA_SUCCESS &&
         driver_.cuStreamSynchronize(own_stream()) == CUDA_SUCCESS && read(regions, result);
}

void AccessProbe::find_overwritten(std::span<const Region> regions, const Contents& before,
                                   const Contents& after, const Launch& launch, Findings& findings) {
  const auto overwritten = [&](std::size_t i) {
    findings[i] = {AccessKind::kWrite, 0, static_cast<std::int64_t>(regions[i].bytes)};
  };
  Contents& result = result_;
  std::vector<bool> fill(regions.size());
  std::vector<std::size_t> written;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    fill[i] = findings[i].kind == AccessKind::kReadWrite;
    if (fill[i]) written.push_back(i);
  }
  if (!replay(regions, before, fill, result, launch)) return;
  bool all = true;
  for (std::size_t i = 0; i < regions.size(); ++i) all = all && result[i].same(after[i]);
  if (all) {
    for (const std::size_t i : written) overwritten(i);
    return;
  }
  for (const std::size_t i : written) {
    if (written.size() > 1) {
      fill.assign(regions.size(), false);
      fill[i] = true;
      if (!replay(regions, before, fill, result, launch)) return;
    }
    bool others = true;
    for (std::size_t k = 0; k < regions.size(); ++k) others = others && (k == i || result[k].same(after[k]));
    if (others && result[i].same(after[i])) overwritten(i);
  }
}

}  // namespace tferry::runtime
