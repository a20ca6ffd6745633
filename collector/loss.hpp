#pragma once

#include "collector/cupti_api.hpp"
#include "trace/records.hpp"
#include "trace/spool_writer.hpp"

#include <string>
#include <string_view>

namespace tferry::collector {

/// Why a CUPTI call was refused, for the report: which kind of reason, and a sentence with what to do, or an
/// empty one where the name of the code says all.
struct Refusal {
  trace::LossReason reason = trace::LossReason::kUnsupported;
  const char* advice = "";
};
Refusal explain(CUptiResult result);

/// "CUPTI refused kernel records: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35). Advice."
std::string refusal_text(std::string_view what, const char* result_name, CUptiResult result,
                         std::string_view holder = {});

/// Appends that something is missing. `count` -1: unknown how many.
void append_loss(trace::SpoolWriter& spool, trace::RecordKind what, trace::LossReason reason,
                 std::int64_t count, std::string_view detail) noexcept;

}  // namespace tferry::collector
