#include "trace/ingest_names.hpp"

#include <cstdio>

namespace tferry::trace {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string uuid_text(const std::uint8_t (&uuid)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

std::string pci_text(const DeviceRecord& record) {
  char text[40];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", static_cast<unsigned>(record.pci_domain),
                static_cast<unsigned>(record.pci_bus), static_cast<unsigned>(record.pci_device));
  return text;
}

std::optional<std::int64_t> unless_zero(std::int64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

std::optional<std::string> IngestNames::text(StringId id) const {
  if (id == 0) return std::nullopt;
  const auto place = recording_.strings.find(id);
  return place == recording_.strings.end() ? "?" + hexadecimal(id) : place->second;
}

std::optional<std::int64_t> IngestNames::row(StringId id) {
  if (id == 0) return std::nullopt;
  const auto [place, is_new] = rows_.try_emplace(id);
  if (is_new) place->second = writer_.intern(*text(id));
  return place->second;
}

std::int64_t IngestNames::device(const DeviceRecord& record, const std::optional<std::string>& host) {
  const std::string uuid = uuid_text(record.uuid);
  const auto [place, is_new] = devices_.try_emplace(host.value_or("") + "/" + uuid);
  if (is_new) {
    DeviceRow row{.uuid = uuid, .host = host, .name = text(record.name), .pci_address = pci_text(record)};
    row.memory_bytes = unless_zero(record.memory_bytes);
    row.multiprocessors = unless_zero(record.multiprocessors);
    if (record.compute_major > 0) {
      row.compute_capability =
          std::to_string(record.compute_major) + "." + std::to_string(record.compute_minor);
    }
    row.copy_engines = unless_zero(record.copy_engines);
    row.pcie_generation = unless_zero(record.pcie_generation);
    row.pcie_width = unless_zero(record.pcie_width);
    if (record.numa_node >= 0) row.numa_node = record.numa_node;
    place->second = writer_.insert(row);
  }
  return place->second;
}

}  // namespace tferry::trace
