#include "collector/sampler/nvml_source.hpp"

#include "trace/spool_writer.hpp"

#include <cctype>
#include <cstring>

namespace tferry::collector {

std::string NvmlSource::start() {
  // It may know the GPU and not its rates.
  if (nvml_.received_kb_per_s(nvml_device_) >= 0) return "";
  return "NVML does not tell the PCIe throughput of " + nvml_device_.uuid;
}

std::string NvmlSource::read(std::vector<CounterSample>& samples, bool&) {
  CounterSample sample;
  sample.start_ns = trace::SpoolWriter::now_ns();
  const std::int64_t received = nvml_.received_kb_per_s(nvml_device_);
  const std::int64_t sent = nvml_.sent_kb_per_s(nvml_device_);
  sample.end_ns = trace::SpoolWriter::now_ns();
  if (received < 0 || sent < 0) return "NVML did not tell the PCIe throughput of " + nvml_device_.uuid;
  sample.values = {static_cast<double>(received), static_cast<double>(sent)};
  samples.push_back(std::move(sample));
  return "";
}

std::string NvlinkSource::start() {
  before_ = nvml_.nvlink_totals(nvml_device_);
  before_ns_ = trace::SpoolWriter::now_ns();
  return before_.error;
}

std::string NvlinkSource::read(std::vector<CounterSample>& samples, bool&) {
  const Nvml::NvlinkTotals now = nvml_.nvlink_totals(nvml_device_);
  if (!now.error.empty()) return now.error;
  CounterSample sample;
  sample.start_ns = before_ns_;
  sample.end_ns = before_ns_ = trace::SpoolWriter::now_ns();
  // Someone may have set the counters back.
  const std::int64_t received = now.received_bytes - before_.received_bytes;
  const std::int64_t sent = now.sent_bytes - before_.sent_bytes;
  before_ = now;
  if (received < 0 || sent < 0) return "";
  sample.values = {static_cast<double>(received), static_cast<double>(sent)};
  samples.push_back(std::move(sample));
  return "";
}

std::optional<Nvml::Device> find_device(Nvml& nvml, const trace::DeviceRecord& device) {
  for (const Nvml::Device& candidate : nvml.devices()) {
    std::uint8_t uuid[16] = {};
    if (parse_uuid(candidate.uuid, uuid) && std::memcmp(uuid, device.uuid, sizeof uuid) == 0)
      return candidate;
  }
  return std::nullopt;
}

bool parse_uuid(const std::string& text, std::uint8_t (&uuid)[16]) {
  if (!text.starts_with("GPU-")) return false;
  int digits = 0;
  for (const char c : text.substr(4)) {
    if (c == '-') continue;
    if (!std::isxdigit(static_cast<unsigned char>(c)) || digits == 32) return false;
    const int value = std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 0x20) - 'a' + 10;
    std::uint8_t& byte = uuid[digits / 2];
    byte = static_cast<std::uint8_t>(digits % 2 == 0 ? value << 4 : byte | value);
    ++digits;
  }
  return digits == 32;
}

}  // namespace tferry::collector
