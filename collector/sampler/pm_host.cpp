#include "collector/sampler/pm_host.hpp"

#include "collector/loss.hpp"

#include <cupti_profiler_target.h>

namespace tferry::collector {
namespace {

std::string pm_error_text(const std::string& call, CUptiResult result) {
  const char* name = nullptr;
  if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "unknown CUPTI error";
  std::string text = call + " answered " + name + " (" + std::to_string(static_cast<int>(result)) + ")";
  const char* advice = explain(result).advice;
  if (*advice != '\0') text += std::string(". ") + advice;
  return text;
}

std::vector<const char*> pointers(std::span<const std::string> names) {
  std::vector<const char*> result;
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}

CUpti_Profiler_Host_Object* make_object(const std::string& chip,
                                        const std::vector<std::uint8_t>& availability) {
  CUpti_Profiler_Host_Initialize_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  parameters.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING;
  parameters.pChipName = chip.c_str();
  parameters.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  check_pm("cuptiProfilerHostInitialize", cuptiProfilerHostInitialize(&parameters));
  return parameters.pHostObject;
}

void free_object(CUpti_Profiler_Host_Object* object) {
  CUpti_Profiler_Host_Deinitialize_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
  parameters.pHostObject = object;
  cuptiProfilerHostDeinitialize(&parameters);
}

CUptiResult add_metrics(CUpti_Profiler_Host_Object* object, std::span<const std::string> names) {
  std::vector<const char*> list = pointers(names);
  CUpti_Profiler_Host_ConfigAddMetrics_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
  parameters.pHostObject = object;
  parameters.ppMetricNames = list.data();
  parameters.numMetrics = list.size();
  return cuptiProfilerHostConfigAddMetrics(&parameters);
}

std::vector<std::uint8_t> config_image(CUpti_Profiler_Host_Object* object) {
  CUpti_Profiler_Host_GetConfigImageSize_Params size{};
  size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
  size.pHostObject = object;
  check_pm("cuptiProfilerHostGetConfigImageSize", cuptiProfilerHostGetConfigImageSize(&size));
  std::vector<std::uint8_t> image(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
  parameters.pHostObject = object;
  parameters.configImageSize = image.size();
  parameters.pConfigImage = image.data();
  check_pm("cuptiProfilerHostGetConfigImage", cuptiProfilerHostGetConfigImage(&parameters));
  return image;
}

}  // namespace

void initialize_profiler() {
  CUpti_Profiler_Initialize_Params parameters{};
  parameters.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
  // Answers an error where there is no driver, which the host side does not need.
  cuptiProfilerInitialize(&parameters);
}

PmError::PmError(const std::string& call, CUptiResult result)
    : std::runtime_error(pm_error_text(call, result)), result_(result) {}

void check_pm(const char* call, CUptiResult result) {
  if (result != CUPTI_SUCCESS) throw PmError(call, result);
}

PmHost::PmHost(const std::string& chip, std::vector<std::uint8_t> availability)
    : chip_(chip), availability_(std::move(availability)) {
  initialize_profiler();
  object_ = make_object(chip_, availability_);
}

PmHost::~PmHost() { free_object(object_); }

std::vector<std::string> PmHost::supported_chips() {
  initialize_profiler();
  CUpti_Profiler_Host_GetSupportedChips_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE;
  check_pm("cuptiProfilerHostGetSupportedChips", cuptiProfilerHostGetSupportedChips(&parameters));
  return {parameters.ppChipNames, parameters.ppChipNames + parameters.numChips};
}

std::vector<std::string> PmHost::base_metrics() {
  CUpti_Profiler_Host_GetBaseMetrics_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE;
  parameters.pHostObject = object_;
  parameters.metricType = CUPTI_METRIC_TYPE_COUNTER;
  check_pm("cuptiProfilerHostGetBaseMetrics", cuptiProfilerHostGetBaseMetrics(&parameters));
  return {parameters.ppMetricNames, parameters.ppMetricNames + parameters.numMetrics};
}

int PmHost::passes(std::span<const std::string> names) {
  // All names in one call: a call each would make a pass each. An object takes one configuration.
  CUpti_Profiler_Host_Object* object = make_object(chip_, availability_);
  int count = 0;
  if (add_metrics(object, names) == CUPTI_SUCCESS) {
    std::vector<std::uint8_t> image = config_image(object);
    CUpti_Profiler_Host_GetNumOfPasses_Params parameters{};
    parameters.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
    parameters.configImageSize = image.size();
    parameters.pConfigImage = image.data();
    if (cuptiProfilerHostGetNumOfPasses(&parameters) == CUPTI_SUCCESS) {
      count = static_cast<int>(parameters.numOfPasses);
    }
  }
  free_object(object);
  return count;
}

std::vector<std::uint8_t> PmHost::configure(std::span<const std::string> names) {
  check_pm("cuptiProfilerHostConfigAddMetrics", add_metrics(object_, names));
  return config_image(object_);
}

void PmHost::evaluate(std::span<const std::uint8_t> image, std::size_t index, std::span<const char*> names,
                      std::span<double> values) {
  CUpti_Profiler_Host_EvaluateToGpuValues_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
  parameters.pHostObject = object_;
  parameters.pCounterDataImage = image.data();
  parameters.counterDataImageSize = image.size();
  parameters.rangeIndex = index;
  parameters.ppMetricNames = names.data();
  parameters.numMetrics = names.size();
  parameters.pMetricValues = values.data();
  check_pm("cuptiProfilerHostEvaluateToGpuValues", cuptiProfilerHostEvaluateToGpuValues(&parameters));
}

}  // namespace tferry::collector
