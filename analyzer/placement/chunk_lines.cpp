#include "analyzer/placement/chunk_lines.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

/// Splitmix64's finalizer: sums of such numbers tell sets of parts apart.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

CoarseTimes::Words ChunkLines::touched_by(const Part& part) const {
  CoarseTimes::Words touched{};
  for (const Presence& presence : part.presences) {
    const std::uint32_t begin = presence.begin % total_, end = begin + (presence.end - presence.begin);
    coarse_.touch(touched, begin, std::min(end, total_));
    if (end > total_) coarse_.touch(touched, 0, end - total_);
  }
  return touched;
}

void ChunkLines::mark(Masks& masks, const Tenancy& tenancy) const {
  coarse_.touch(masks.touched, tenancy.begin, std::min(tenancy.end, total_));
  coarse_.cover(masks.covered, tenancy.begin, std::min(tenancy.end, total_));
  if (tenancy.end <= total_) return;
  coarse_.touch(masks.touched, 0, tenancy.end - total_);
  coarse_.cover(masks.covered, 0, tenancy.end - total_);
}

bool ChunkLines::fits(std::size_t chunk, const Part& part, const CoarseTimes::Words& touched) const {
  if (CoarseTimes::meet(masks_[chunk].covered, touched)) return false;
  const std::vector<Tenancy>& line = lines_[chunk].tenancies;
  if (line.empty()) return true;
  // Tenancies do not overlap, so only the neighbours of a presence's begin can be in its way.
  return std::none_of(part.presences.begin(), part.presences.end(), [&](const Presence& presence) {
    const auto next = first_from(line, presence.begin % total_);
    const Tenancy& later = next == line.end() ? line.front() : *next;
    const Tenancy& earlier = next == line.begin() ? line.back() : *(next - 1);
    return overlap(presence, later) || overlap(presence, earlier);
  });
}

void ChunkLines::add(std::size_t chunk, const Part& part, std::uint32_t number, std::uint32_t piece) {
  std::vector<Tenancy>& line = lines_[chunk].tenancies;
  for (std::uint32_t p = 0; p < part.presences.size(); ++p) {
    const Presence& presence = part.presences[p];
    const std::uint32_t begin = presence.begin % total_;
    const auto added = line.insert(first_from(line, begin),
                                   {begin, begin + (presence.end - presence.begin), number, piece, p});
    mark(masks_[chunk], *added);
  }
  lines_[chunk].signature += scramble(number);
}

void ChunkLines::remove(std::size_t chunk, std::uint32_t part, std::uint32_t piece) {
  const auto removed = std::erase_if(lines_[chunk].tenancies,
                                     [&](const Tenancy& t) { return t.part == part && t.piece == piece; });
  if (removed == 0) return;
  lines_[chunk].signature -= scramble(part);
  masks_[chunk] = {};
  for (const Tenancy& tenancy : lines_[chunk].tenancies) mark(masks_[chunk], tenancy);
}

const Tenancy* ChunkLines::before(std::size_t chunk, std::uint32_t begin) const {
  const std::vector<Tenancy>& line = lines_[chunk].tenancies;
  if (line.empty()) return nullptr;
  const auto next = first_from(line, begin % total_);
  return next == line.begin() ? &line.back() : &*(next - 1);
}

const Tenancy* ChunkLines::after(std::size_t chunk, std::uint32_t end) const {
  const std::vector<Tenancy>& line = lines_[chunk].tenancies;
  if (line.empty()) return nullptr;
  const auto next = first_from(line, end % total_);
  return next == line.end() ? &line.front() : &*next;
}

}  // namespace tferry::analyzer
