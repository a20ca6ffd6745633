#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tferry::analyzer {

/// Where the thing with an id lies. Ids of a recording are nearly dense, so they index a table; any others
/// are searched for. Fill, build, find. Memory: 4 to 32 bytes an id.
class IdIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void add(std::int64_t id, std::uint32_t at) { pairs_.emplace_back(id, at); }

  void build() {
    if (pairs_.empty()) return;
    const auto [least, most] = std::minmax_element(pairs_.begin(), pairs_.end());
    first_ = static_cast<std::uint64_t>(least->first);
    const std::uint64_t range = static_cast<std::uint64_t>(most->first) - first_;
    if (range / 4 > pairs_.size()) {
      std::sort(pairs_.begin(), pairs_.end());
      return;
    }
    table_.assign(range + 1, kNone);
    for (const auto& [id, at] : pairs_) table_[static_cast<std::uint64_t>(id) - first_] = at;
    pairs_ = {};
  }

  /// kNone where there is none.
  std::uint32_t find(std::int64_t id) const {
    const std::uint64_t place = static_cast<std::uint64_t>(id) - first_;
    if (pairs_.empty()) return place < table_.size() ? table_[place] : kNone;
    const auto found = std::lower_bound(pairs_.begin(), pairs_.end(), std::pair(id, std::uint32_t{0}));
    return found != pairs_.end() && found->first == id ? found->second : kNone;
  }

 private:
  std::vector<std::pair<std::int64_t, std::uint32_t>> pairs_;
  std::vector<std::uint32_t> table_;  ///< by id, from the least one on
  std::uint64_t first_ = 0;
};

}  // namespace tferry::analyzer
