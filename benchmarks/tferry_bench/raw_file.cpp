#include "benchmarks/tferry_bench/raw_file.hpp"

#include "benchmarks/tferry_bench/result.hpp"

#include <ctime>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace tferry::benchmarks {

nlohmann::json raw_file(const std::string& script, const std::string& git, nlohmann::json measurements) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {{"schema", kRawSchema},
          {"script", script},
          {"date", date},
          {"git", git},
          {"machine", {{"gpu", "none"}, {"gpus", 0}, {"processors", std::thread::hardware_concurrency()}}},
          {"cells", nlohmann::json::array()},
          {"measurements", std::move(measurements)}};
}

void write_raw(const nlohmann::json& raw, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  out << raw.dump(1) << '\n';
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace tferry::benchmarks
