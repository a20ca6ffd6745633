#include "tests/replay/recorded_job.hpp"

#include "trace/spool_reader.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

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
  std::string directory = std::filesystem::temp_directory_path() / "tferry-replay-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) throw std::runtime_error("mkdtemp " + directory);
  std::string spool = path;
  if (path.ends_with(".gz")) {
    spool = directory + "/job.spool";
    const std::string command = "gzip -dc '" + path + "' > '" + spool + "'";
    if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
  }
  RecordedJob job;
  trace::SpoolReader reader(spool);
  while (const auto record = reader.next()) {
    if (const auto text = record->as<trace::StringRecord>()) job.strings[text->id] = record->text();
    if (const auto named = record->as<trace::AccessRecord>()) {
      const auto entries = record->accesses();
      auto& all = job.accesses[named->operation];
      all.insert(all.end(), entries.begin(), entries.end());
    }
    take(*record, job.calls, static_cast<RecordedJob::Call*>(nullptr));
  }
  std::filesystem::remove_all(directory);
  const auto time = [](const RecordedJob::Call& call) {
    return std::visit([](const auto& record) { return record.time_ns; }, call);
  };
  std::stable_sort(job.calls.begin(), job.calls.end(),
                   [&](const RecordedJob::Call& a, const RecordedJob::Call& b) { return time(a) < time(b); });
  return job;
}

}  // namespace tferry::replay
