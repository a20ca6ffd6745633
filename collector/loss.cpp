#include "collector/loss.hpp"

namespace tferry::collector {

Refusal explain(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return {trace::LossReason::kNotPermitted,
              "Allow it with the driver option NVreg_RestrictProfilingToAdminUsers=0, or give the program "
              "(container) the capability CAP_SYS_ADMIN"};
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return {trace::LossReason::kNotPermitted,
              "Another profiler has CUPTI in this process (Nsight, compute-sanitizer, cuda-gdb, the PyTorch "
              "profiler): end it to record with Tensorferry"};
    case CUPTI_ERROR_HARDWARE_BUSY:
      return {trace::LossReason::kNotPermitted, "Another tool uses the counters of this GPU: end it"};
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
      return {trace::LossReason::kNotPermitted, "The program uses the old profiling API of CUPTI itself"};
    case CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES:
      return {trace::LossReason::kUnsupported,
              "The visible GPUs cannot reach each other: show the job one GPU (CUDA_VISIBLE_DEVICES)"};
    case CUPTI_ERROR_NOT_READY:
      return {trace::LossReason::kUnsupported, "The driver was not ready for it"};
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      return {trace::LossReason::kUnsupported, "Is there a working driver? `tferry doctor` tells"};
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return {trace::LossReason::kUnsupported, "The GPU runs in confidential-computing mode"};
    default:
      return {trace::LossReason::kUnsupported, ""};
  }
}

std::string refusal_text(std::string_view what, const char* result_name, CUptiResult result,
                         std::string_view holder) {
  std::string text = "CUPTI refused " + std::string(what) + ": " + result_name + " (" +
                     std::to_string(static_cast<int>(result)) + ")";
  if (!holder.empty()) text += ", held by " + std::string(holder);
  const char* advice = explain(result).advice;
  if (*advice != '\0') text += std::string(". ") + advice;
  return text;
}

void append_loss(trace::SpoolWriter& spool, trace::RecordKind what, trace::LossReason reason,
                 std::int64_t count, std::string_view detail) noexcept {
  trace::LossRecord loss;
  loss.time_ns = loss.end_ns = trace::SpoolWriter::now_ns();
  loss.count = count;
  loss.detail = spool.intern(detail);
  loss.what = what;
  loss.reason = reason;
  spool.append(loss);
}

}  // namespace tferry::collector
