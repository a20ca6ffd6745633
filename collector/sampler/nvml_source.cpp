#include "collector/sampler/nvml_source.hpp"

#include "trace/spool_writer.hpp"

#include <cctype>

namespace tferry::collector {

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
