#pragma once

#include "trace/session_column.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace tferry::trace {

/// The turns that one GPU of one process took on a link that it shares with other ranks.
struct SlotUseRow {
  static constexpr const char* kTable = "slot_use";
  std::int64_t pid = 0;
  std::int64_t device_ordinal = 0;                ///< of the GPU in its process
  std::optional<std::int64_t> rank = {};          ///< local rank
  std::optional<std::int64_t> gpus_on_link = {};  ///< most that took turns at once, this one included
  std::optional<std::int64_t> asked = {};         ///< transfers that were ready and asked for a turn
  std::optional<std::int64_t> granted = {};       ///< of them, those that got it
  std::optional<std::int64_t> used = {};          ///< turns that ended within the lease
  std::optional<std::int64_t> ahead = {};         ///< transfers let through without asking
  std::optional<std::int64_t> expired = {};       ///< turns that outlasted the lease
  std::optional<std::int64_t> wait_ns = {};       ///< between asking and getting it, in sum

  template <typename Row = SlotUseRow>
  static constexpr auto columns() {
    return std::tuple{Column{"pid", &Row::pid},         Column{"device_ordinal", &Row::device_ordinal},
                      Column{"rank", &Row::rank},       Column{"gpus_on_link", &Row::gpus_on_link},
                      Column{"asked", &Row::asked},     Column{"granted", &Row::granted},
                      Column{"used", &Row::used},       Column{"ahead", &Row::ahead},
                      Column{"expired", &Row::expired}, Column{"wait_ns", &Row::wait_ns}};
  }
};

/// One transfer that was to take its turn on a shared link.
struct SlotRow {
  static constexpr const char* kTable = "slot";
  std::int64_t pid = 0;
  std::int64_t device_ordinal = 0;        ///< of the GPU in its process
  std::optional<std::int64_t> rank = {};  ///< local rank
  std::int64_t link = 0;                  ///< a number for each link
  std::int64_t direction = 0;             ///< 0 to the GPU, 1 from it
  std::string use = {};                   ///< granted, ahead, expired
  std::int64_t bytes = 0;
  std::int64_t iteration = 0;  ///< iterations that its rank had submitted before it
  std::int64_t asked_ns = 0;
  std::int64_t granted_ns = 0;
  std::int64_t ended_ns = 0;

  template <typename Row = SlotRow>
  static constexpr auto columns() {
    return std::tuple{Column{"pid", &Row::pid},
                      Column{"device_ordinal", &Row::device_ordinal},
                      Column{"rank", &Row::rank},
                      Column{"link", &Row::link},
                      Column{"direction", &Row::direction},
                      Column{"use", &Row::use},
                      Column{"bytes", &Row::bytes},
                      Column{"iteration", &Row::iteration},
                      Column{"asked_ns", &Row::asked_ns},
                      Column{"granted_ns", &Row::granted_ns},
                      Column{"ended_ns", &Row::ended_ns}};
  }
};

}  // namespace tferry::trace
