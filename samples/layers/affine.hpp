#pragma once

#include <cstdint>

namespace tferry::samples {

/// A run of 64-bit integers that follow `slope * j + offset` (modulo 2^64), j counting from the start of the
/// run. Scaling, adding runs, adding a constant and copying all keep that form, so a program made of these
/// operations has an answer that can be worked out without touching its data, whatever its size.
struct Affine {
  std::uint64_t slope = 0;
  std::uint64_t offset = 0;

  std::uint64_t at(std::uint64_t j) const { return slope * j + offset; }
  bool operator==(const Affine&) const = default;
};

inline Affine operator+(const Affine& a, const Affine& b) { return {a.slope + b.slope, a.offset + b.offset}; }
inline Affine operator+(const Affine& a, std::uint64_t constant) { return {a.slope, a.offset + constant}; }
inline Affine operator*(std::uint64_t factor, const Affine& a) {
  return {factor * a.slope, factor * a.offset};
}

/// The same values, counted from element `start` on.
inline Affine from(const Affine& a, std::uint64_t start) { return {a.slope, a.at(start)}; }

/// Two checksums of a buffer x_0 .. x_(n-1), modulo 2^64: the sum notices wrong values, the weighted sum also
/// values in wrong places.
struct Sums {
  std::uint64_t plain = 0;     ///< sum of x_i
  std::uint64_t weighted = 0;  ///< sum of (i + 1) * x_i

  Sums& operator+=(const Sums& other) {
    plain += other.plain;
    weighted += other.weighted;
    return *this;
  }
  bool operator==(const Sums&) const = default;
};

/// What `count` elements of `run`, lying at index `first` of their buffer, add to the buffer's checksums: the
/// closed form, by the sums over j and j^2. count at most 2^40.
Sums sums_of(const Affine& run, std::uint64_t first, std::uint64_t count);

}  // namespace tferry::samples
