#include "analyzer/iterations/ngram_index.hpp"

#include <bit>

namespace tferry::analyzer {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

/// Hash of each window of `length` entries: a polynomial over mixed entries, so that it can roll.
std::vector<std::uint64_t> window_hashes(std::span<const std::uint32_t> sequence, std::size_t length) {
  if (sequence.size() < length) return {};
  constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ULL;
  std::uint64_t leading = 1;
  for (std::size_t i = 1; i < length; ++i) leading *= kBase;
  std::vector<std::uint64_t> hashes(sequence.size() - length + 1);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    if (i >= length) hash -= leading * mix(sequence[i - length] + 1ULL);
    hash = hash * kBase + mix(sequence[i] + 1ULL);
    if (i + 1 >= length) hashes[i + 1 - length] = mix(hash);
  }
  return hashes;
}

}  // namespace

NgramIndex::NgramIndex(std::span<const std::uint32_t> sequence, std::size_t length) : length_(length) {
  const std::vector<std::uint64_t> hashes = window_hashes(sequence, length);
  struct Slot {
    std::uint64_t hash;
    std::uint32_t kind_plus_one;
  };
  std::vector<Slot> table(std::bit_ceil(hashes.size() * 2 + 1));
  const std::size_t mask = table.size() - 1;
  std::vector<std::size_t> counts;
  kind_at_.reserve(hashes.size());
  for (const std::uint64_t hash : hashes) {
    std::size_t at = hash & mask;
    while (table[at].kind_plus_one != 0 && table[at].hash != hash) at = (at + 1) & mask;
    if (table[at].kind_plus_one == 0) {
      counts.push_back(0);
      table[at] = {hash, static_cast<std::uint32_t>(counts.size())};
    }
    ++counts[table[at].kind_plus_one - 1];
    kind_at_.push_back(table[at].kind_plus_one - 1);
  }
  begin_.assign(counts.size() + 1, 0);
  for (std::size_t kind = 0; kind < counts.size(); ++kind) begin_[kind + 1] = begin_[kind] + counts[kind];
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  occurrences_.resize(hashes.size());
  for (std::size_t i = 0; i < kind_at_.size(); ++i) {
    occurrences_[next[kind_at_[i]]++] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace tferry::analyzer
