#pragma once

#include "trace/record_enums.hpp"

#include <string_view>

namespace tferry::trace {

/// As column `reason` of table `loss` says it.
constexpr std::string_view loss_reason_name(LossReason reason) {
  switch (reason) {
    case LossReason::kUnknown:
      break;
    case LossReason::kNoBuffer:
      return "no_buffer";
    case LossReason::kDiskFull:
      return "disk_full";
    case LossReason::kSizeLimit:
      return "size_limit";
    case LossReason::kWriteError:
      return "write_error";
    case LossReason::kTooLarge:
      return "too_large";
    case LossReason::kCupti:
      return "dropped_by_cupti";
    case LossReason::kBadTime:
      return "bad_time";
    case LossReason::kNoPartner:
      return "no_partner";
    case LossReason::kDamaged:
      return "damaged";
    case LossReason::kMalformed:
      return "malformed";
    case LossReason::kUnsupported:
      return "unsupported";
    case LossReason::kNotPermitted:
      return "not_permitted";
  }
  return "unknown";
}

}  // namespace tferry::trace
