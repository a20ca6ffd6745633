#pragma once

#include "trace/recording.hpp"
#include "trace/session_writer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace tferry::trace {

/// Names and cards that the processes of a session share.
class IngestNames {
 public:
  IngestNames(const Recording& recording, SessionWriter& writer);

  /// Row of table `string`; NULL for no string. A string that was lost is named by its hash.
  std::optional<std::int64_t> row(StringId id);
  /// The text itself, if there is one.
  std::optional<std::string> text(StringId id) const;
  /// Row of table `device` for a card, written at its first sight. A recording is of one host; its cards are
  /// told apart by UUID, where nobody told it by PCI address, and without that each is taken for another.
  std::int64_t device(const DeviceRecord& record);
  /// Writes a row of table `link` for an NVLink connection, at its first sight.
  void nvlink(const NvlinkRecord& record);

 private:
  const Recording& recording_;
  SessionWriter& writer_;
  std::optional<std::string> host_;
  std::unordered_map<StringId, std::int64_t> rows_;
  std::map<std::string, std::int64_t> devices_;  ///< by UUID and by PCI address
  std::set<std::string> nvlinks_;
};

/// What several records tell of one card: the first one's fields, and what only others know.
DeviceRecord merge(const DeviceRecord& first, const DeviceRecord& other);

}  // namespace tferry::trace
