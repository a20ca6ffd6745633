#include "tests/replay/recorded_job.hpp"

#include "tests/replay/plain_spool.hpp"
#include "trace/spool_reader.hpp"

#include <algorithm>

namespace tferry::replay {
namespace {

template <class... Records>
void take(const trace::SpoolRecordView& view, std::vector<RecordedJob::Call>& calls,
          std::variant<Records...>* /*kinds*/) {
  const auto add = [&](const auto& record) {
    if (record) calls.emplace_back(*record);
  };
  (add(view.as<Records>()), ...);
}

}  // namespace

RecordedJob read_recorded_job(const std::string& path) {
  const PlainSpool spool(path);
  RecordedJob job;
  trace::SpoolReader reader(spool.path());
  while (const auto record = reader.next()) {
    if (const auto text = record->as<trace::StringRecord>()) job.strings[text->id] = record->text();
    if (const auto named = record->as<trace::AccessRecord>()) {
      const auto entries = record->accesses();
      auto& all = job.accesses[named->operation];
      all.insert(all.end(), entries.begin(), entries.end());
    }
    take(*record, job.calls, static_cast<RecordedJob::Call*>(nullptr));
  }
  const auto time = [](const RecordedJob::Call& call) {
    return std::visit([](const auto& record) { return record.time_ns; }, call);
  };
  std::stable_sort(job.calls.begin(), job.calls.end(),
                   [&](const RecordedJob::Call& a, const RecordedJob::Call& b) { return time(a) < time(b); });
  return job;
}

}  // namespace tferry::replay
