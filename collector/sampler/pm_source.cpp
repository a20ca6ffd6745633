#include "collector/sampler/pm_source.hpp"

#include <cupti_target.h>

#include <algorithm>

namespace tferry::collector {
namespace {

constexpr std::size_t kHardwareBuffer = 128 << 20;
constexpr std::uint32_t kMaxSamples = 16384;

std::string chip_name(std::size_t index) {
  CUpti_Device_GetChipName_Params parameters{};
  parameters.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
  parameters.deviceIndex = index;
  check_pm("cuptiDeviceGetChipName", cuptiDeviceGetChipName(&parameters));
  return parameters.pChipName;
}

std::vector<std::uint8_t> counter_availability(std::size_t index) {
  // Without it CUPTI 13.0 answers INVALID_PARAMETER here (seen on an H200).
  initialize_profiler();
  CUpti_PmSampling_GetCounterAvailability_Params parameters{};
  parameters.structSize = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE;
  parameters.deviceIndex = index;
  check_pm("cuptiPmSamplingGetCounterAvailability", cuptiPmSamplingGetCounterAvailability(&parameters));
  std::vector<std::uint8_t> image(parameters.counterAvailabilityImageSize);
  parameters.pCounterAvailabilityImage = image.data();
  check_pm("cuptiPmSamplingGetCounterAvailability", cuptiPmSamplingGetCounterAvailability(&parameters));
  return image;
}

template <typename Call>
std::string attempt(Call&& call) {
  try {
    call();
    return "";
  } catch (const PmError& error) {
    return error.what();
  }
}

}  // namespace

PmSource::PmSource(trace::DeviceRecord device, std::int64_t interval_ns,
                   std::span<const std::string> counters)
    : device_(device),
      index_(static_cast<std::size_t>(device.device)),
      host_(chip_name(index_), counter_availability(index_)) {
  metrics_ = choose_metrics(counters, host_.base_metrics(),
                            [&](std::span<const std::string> names) { return host_.passes(names); });
  std::vector<std::string> names;
  for (const Metric& metric : metrics_) {
    counters_.push_back(metric.counter);
    names.push_back(metric.name);
  }
  for (const std::string& counter : counters) {
    if (std::find(counters_.begin(), counters_.end(), counter) == counters_.end()) {
      shortfall_ += (shortfall_.empty() ? "" : ", ") + counter + why_not(counter);
    }
  }
  if (names.empty()) throw PmError("choosing counters in one pass", CUPTI_ERROR_INVALID_METRIC_NAME);
  for (const Metric& metric : metrics_) names_.push_back(metric.name.c_str());
  configure(interval_ns, names);
}

std::string PmSource::why_not(const std::string& counter) {
  const std::string name = find_metric(counter, host_.base_metrics());
  if (name.empty()) return " (this chip has none)";
  // Alone it takes a pass where the driver lets it be had at all: a virtual machine may be shown less.
  return host_.passes(std::span(&name, 1)) == 0 ? " (not offered here)" : " (fits no common pass)";
}

void PmSource::configure(std::int64_t interval_ns, std::span<const std::string> names) {
  configuration_ = host_.configure(names);

  CUpti_PmSampling_Enable_Params enable{};
  enable.structSize = CUpti_PmSampling_Enable_Params_STRUCT_SIZE;
  enable.deviceIndex = index_;
  check_pm("cuptiPmSamplingEnable", cuptiPmSamplingEnable(&enable));
  object_ = enable.pPmSamplingObject;

  CUpti_PmSampling_SetConfig_Params set{};
  set.structSize = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE;
  set.pPmSamplingObject = object_;
  set.configSize = configuration_.size();
  set.pConfig = configuration_.data();
  set.hardwareBufferSize = kHardwareBuffer;
  set.samplingInterval = static_cast<std::uint64_t>(interval_ns);
  set.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  set.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  check_pm("cuptiPmSamplingSetConfig", cuptiPmSamplingSetConfig(&set));

  CUpti_PmSampling_GetCounterDataSize_Params size{};
  size.structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE;
  size.pPmSamplingObject = object_;
  size.pMetricNames = names_.data();
  size.numMetrics = names_.size();
  size.maxSamples = kMaxSamples;
  check_pm("cuptiPmSamplingGetCounterDataSize", cuptiPmSamplingGetCounterDataSize(&size));
  image_.resize(size.counterDataSize);
  reset_image();
}

PmSource::~PmSource() {
  if (object_ == nullptr) return;
  CUpti_PmSampling_Disable_Params parameters{};
  parameters.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE;
  parameters.pPmSamplingObject = object_;
  cuptiPmSamplingDisable(&parameters);
}

void PmSource::reset_image() {
  CUpti_PmSampling_CounterDataImage_Initialize_Params parameters{};
  parameters.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE;
  parameters.pPmSamplingObject = object_;
  parameters.counterDataSize = image_.size();
  parameters.pCounterData = image_.data();
  check_pm("cuptiPmSamplingCounterDataImageInitialize",
           cuptiPmSamplingCounterDataImageInitialize(&parameters));
}

std::string PmSource::start() {
  return attempt([&] {
    CUpti_PmSampling_Start_Params parameters{};
    parameters.structSize = CUpti_PmSampling_Start_Params_STRUCT_SIZE;
    parameters.pPmSamplingObject = object_;
    check_pm("cuptiPmSamplingStart", cuptiPmSamplingStart(&parameters));
    first_ = true;
  });
}

std::string PmSource::stop() {
  return attempt([&] {
    CUpti_PmSampling_Stop_Params parameters{};
    parameters.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE;
    parameters.pPmSamplingObject = object_;
    check_pm("cuptiPmSamplingStop", cuptiPmSamplingStop(&parameters));
  });
}

std::string PmSource::read(std::vector<CounterSample>& samples, bool& overflow) {
  return attempt([&] {
    while (decode(samples, overflow)) {
    }
  });
}

bool PmSource::decode(std::vector<CounterSample>& samples, bool& overflow) {
  CUpti_PmSampling_DecodeData_Params parameters{};
  parameters.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE;
  parameters.pPmSamplingObject = object_;
  parameters.pCounterDataImage = image_.data();
  parameters.counterDataImageSize = image_.size();
  check_pm("cuptiPmSamplingDecodeData", cuptiPmSamplingDecodeData(&parameters));
  if (parameters.overflow != 0) overflow = true;

  CUpti_PmSampling_GetCounterDataInfo_Params information{};
  information.structSize = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE;
  information.pCounterDataImage = image_.data();
  information.counterDataImageSize = image_.size();
  check_pm("cuptiPmSamplingGetCounterDataInfo", cuptiPmSamplingGetCounterDataInfo(&information));

  for (std::size_t i = 0; i < information.numCompletedSamples; ++i) {
    CUpti_PmSampling_CounterData_GetSampleInfo_Params times{};
    times.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE;
    times.pPmSamplingObject = object_;
    times.pCounterDataImage = image_.data();
    times.counterDataImageSize = image_.size();
    times.sampleIndex = i;
    check_pm("cuptiPmSamplingCounterDataGetSampleInfo", cuptiPmSamplingCounterDataGetSampleInfo(&times));
    CounterSample sample;
    sample.start_ns = static_cast<std::int64_t>(times.startTimestamp);
    sample.end_ns = static_cast<std::int64_t>(times.endTimestamp);
    sample.values.resize(names_.size());
    host_.evaluate(image_, i, names_, sample.values);
    if (!first_) samples.push_back(std::move(sample));
    first_ = false;
  }
  if (information.numCompletedSamples > 0) reset_image();
  return parameters.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL &&
         information.numCompletedSamples > 0;
}

}  // namespace tferry::collector
