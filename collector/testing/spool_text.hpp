#pragma once

#include "trace/spool_reader.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tferry::collector {

/// The records of a spool as lines of text, for expectations: "kernel gemm 100..200", "loss kernel -1 ...".
/// Strings, the process and our own overhead are left out.
inline std::vector<std::string> spool_text(const std::string& path) {
  using namespace trace;
  std::map<StringId, std::string> strings;
  {
    SpoolReader reader(path);
    while (auto record = reader.next()) {
      if (const auto string = record->as<StringRecord>()) strings[string->id] = record->text();
    }
  }
  const auto text = [&](StringId id) { return id == 0 ? std::string("-") : strings[id]; };
  const auto span = [](const auto& r) {
    return " " + std::to_string(r.time_ns) + ".." + std::to_string(r.end_ns);
  };
  std::vector<std::string> lines;
  SpoolReader reader(path);
  while (auto record = reader.next()) {
    if (auto r = record->as<KernelActivityRecord>()) lines.push_back("kernel " + text(r->name) + span(*r));
    if (auto r = record->as<MemcpyActivityRecord>())
      lines.push_back("memcpy " + std::to_string(r->bytes) + span(*r));
    if (auto r = record->as<MemsetActivityRecord>())
      lines.push_back("memset " + std::to_string(r->bytes) + span(*r));
    if (auto r = record->as<SyncRecord>()) lines.push_back("sync" + span(*r));
    if (auto r = record->as<MarkerRecord>()) {
      const char* kinds[] = {"unknown", "range", "instant", "open"};
      lines.push_back(std::string("marker ") + kinds[static_cast<int>(r->kind)] + " " + text(r->name) +
                      span(*r));
    }
    if (auto r = record->as<OverheadRecord>(); r && text(r->what) != "tferry decoding")
      lines.push_back("overhead " + text(r->what) + span(*r));
    if (auto r = record->as<DeviceRecord>())
      lines.push_back("device " + std::to_string(r->device) + " " + text(r->name));
    if (auto r = record->as<ContextRecord>())
      lines.push_back("context " + std::to_string(r->context_id) + " of device " + std::to_string(r->device) +
                      " handle " + std::to_string(r->handle));
    if (auto r = record->as<StreamRecord>())
      lines.push_back("stream " + std::to_string(r->context_id) + "/" + std::to_string(r->stream_id) +
                      " handle " + std::to_string(r->handle) + " priority " + std::to_string(r->priority));
    if (auto r = record->as<UmEventRecord>()) lines.push_back("um" + span(*r));
    if (auto r = record->as<CounterRecord>())
      lines.push_back("counter " + text(r->counter) + span(*r) + " " +
                      std::to_string(static_cast<std::int64_t>(r->value)));
    if (auto r = record->as<LossRecord>())
      lines.push_back("loss " + std::string(record_kind_name(r->what)) + " " + std::to_string(r->count) +
                      " " + text(r->detail));
  }
  return lines;
}

/// Those of the lines that begin with `start`.
inline std::vector<std::string> spool_text(const std::string& path, const std::string& start) {
  std::vector<std::string> lines = spool_text(path);
  std::erase_if(lines, [&](const std::string& line) { return !line.starts_with(start); });
  return lines;
}

}  // namespace tferry::collector
