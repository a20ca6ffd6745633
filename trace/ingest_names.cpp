#include "trace/ingest_names.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>
#include <vector>

namespace tferry::trace {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

bool has_uuid(const DeviceRecord& record) {
  return std::any_of(std::begin(record.uuid), std::end(record.uuid),
                     [](std::uint8_t byte) { return byte != 0; });
}

bool has_pci_address(const DeviceRecord& record) {
  return record.pci_domain != 0 || record.pci_bus != 0 || record.pci_device != 0;
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

IngestNames::IngestNames(const Recording& recording, SessionWriter& writer)
    : recording_(recording), writer_(writer) {
  for (const RecordedProcess& process : recording.processes) {
    for (const ProcessRecord& record : process.processes) {
      if (!host_) host_ = text(record.host);
    }
  }
}

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

std::int64_t IngestNames::device(const DeviceRecord& record) {
  std::vector<std::string> keys;
  if (has_uuid(record)) keys.push_back(uuid_text(record.uuid));
  if (has_pci_address(record)) keys.push_back(pci_text(record));
  std::int64_t id = 0;
  for (const std::string& key : keys) {
    const auto place = devices_.find(key);
    if (place != devices_.end() && id == 0) id = place->second;
  }
  if (id == 0) {
    DeviceRow row{.uuid = has_uuid(record) ? uuid_text(record.uuid) : "unknown",
                  .host = host_,
                  .name = text(record.name)};
    if (has_pci_address(record)) row.pci_address = pci_text(record);
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
    id = writer_.insert(row);
  }
  for (const std::string& key : keys) devices_.try_emplace(key, id);
  return id;
}

void IngestNames::nvlink(const NvlinkRecord& record) {
  LinkRow row{.kind = "nvlink",
              .upstream = uuid_text(record.first_uuid),
              .downstream = uuid_text(record.second_uuid)};
  if (row.downstream < row.upstream) std::swap(row.upstream, row.downstream);
  if (row.upstream == row.downstream || !nvlinks_.insert(row.upstream + row.downstream).second) return;
  if (const auto place = devices_.find(row.downstream); place != devices_.end())
    row.device_id = place->second;
  if (record.bytes_per_second > 0) {
    row.h2d_bytes_per_second = row.d2h_bytes_per_second = static_cast<double>(record.bytes_per_second);
  }
  row.known_by = record.bytes_per_second > 0 ? "nominal" : "unknown";
  writer_.insert(row);
}

DeviceRecord merge(const DeviceRecord& first, const DeviceRecord& other) {
  DeviceRecord merged = first;
  const auto take = [](auto& value, auto from) {
    if (value == 0) value = from;
  };
  if (!has_uuid(merged)) std::copy(std::begin(other.uuid), std::end(other.uuid), merged.uuid);
  if (!has_pci_address(merged)) {
    merged.pci_domain = other.pci_domain;
    merged.pci_bus = other.pci_bus;
    merged.pci_device = other.pci_device;
  }
  if (merged.numa_node < 0) merged.numa_node = other.numa_node;
  if (merged.compute_major == 0) merged.compute_minor = other.compute_minor;
  take(merged.compute_major, other.compute_major);
  take(merged.memory_bytes, other.memory_bytes);
  take(merged.name, other.name);
  take(merged.multiprocessors, other.multiprocessors);
  take(merged.copy_engines, other.copy_engines);
  take(merged.pcie_generation, other.pcie_generation);
  take(merged.pcie_width, other.pcie_width);
  return merged;
}

}  // namespace tferry::trace
