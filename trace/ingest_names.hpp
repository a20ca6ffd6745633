#pragma once

#include "trace/recording.hpp"
#include "trace/session_writer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace tferry::trace {

/// Names and cards that the processes of a session share.
class IngestNames {
 public:
  IngestNames(const Recording& recording, SessionWriter& writer) : recording_(recording), writer_(writer) {}

  /// Row of table `string`; NULL for no string. A string that was lost is named by its hash.
  std::optional<std::int64_t> row(StringId id);
  /// The text itself, if there is one.
  std::optional<std::string> text(StringId id) const;
  /// Row of table `device` for a card, written at its first sight. Cards are told apart by UUID and host.
  std::int64_t device(const DeviceRecord& record, const std::optional<std::string>& host);

 private:
  const Recording& recording_;
  SessionWriter& writer_;
  std::unordered_map<StringId, std::int64_t> rows_;
  std::map<std::string, std::int64_t> devices_;
};

}  // namespace tferry::trace
