// The layers sample's twin recorded with the times of its operations, by events instead of CUPTI.
#include "tests/end_to_end/job.hpp"
#include "trace/records.hpp"
#include "trace/spool_reader.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tferry::end_to_end {
namespace {

using trace::KernelActivityRecord;
using trace::KernelLaunchRecord;

constexpr std::int64_t kResolution = 64;  // ns; the driver tells times as floats, half a second at most

struct Spool {
  std::vector<KernelLaunchRecord> launches;
  std::vector<trace::MemcpyCallRecord> copies;
  std::map<std::uint32_t, KernelActivityRecord> kernels;               ///< by correlation id
  std::map<std::uint32_t, trace::MemcpyActivityRecord> copy_activity;  ///< the same
  std::map<std::uint64_t, std::uint32_t> streams;                      ///< id by handle
};

Spool read_spool(const std::string& directory) {
  Spool spool;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.path().filename().string().starts_with("spool.")) continue;
    trace::SpoolReader reader(entry.path());
    while (const auto record = reader.next()) {
      if (const auto launch = record->as<KernelLaunchRecord>()) spool.launches.push_back(*launch);
      if (const auto copy = record->as<trace::MemcpyCallRecord>()) spool.copies.push_back(*copy);
      if (const auto ran = record->as<KernelActivityRecord>()) spool.kernels[ran->correlation_id] = *ran;
      if (const auto ran = record->as<trace::MemcpyActivityRecord>())
        spool.copy_activity[ran->correlation_id] = *ran;
      const auto stream = record->as<trace::StreamRecord>();
      if (stream && stream->stream_id != 0) spool.streams[stream->handle] = stream->stream_id;
    }
  }
  return spool;
}

TEST(TimedLayers, OperationsHaveTheirTimesOnceMemoryIsShort) {
  std::string directory = std::filesystem::temp_directory_path() / "tferry-timed-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(directory.data()));
  const Ended job = run_job({TFERRY_LAYERS, "--buffers", "12", "--mib", "2", "--iterations", "6"},
                            {{"LD_LIBRARY_PATH", TFERRY_SOFTWARE_DRIVER_DIRECTORY},
                             {"LD_PRELOAD", TFERRY_RUNTIME_LIBRARY},
                             {"TFERRY_RUN_DIR", directory},
                             {"TFERRY_BUDGET", "20971520"},
                             {"TFERRY_MOVABLE", "2097152"},
                             {"TFERRY_RECORD", "1"},
                             {"TFERRY_TIMES", "1"}});
  EXPECT_EQ(0, job.code) << job.err;
  const Spool spool = read_spool(directory);
  std::filesystem::remove_all(directory);
  ASSERT_LT(100U, spool.launches.size());
  std::size_t timed = 0;
  std::map<std::uint64_t, std::int64_t> last_end;  // by stream
  for (const KernelLaunchRecord& launch : spool.launches) {
    const auto found = spool.kernels.find(static_cast<std::uint32_t>(launch.operation));
    if (found == spool.kernels.end()) continue;
    ++timed;
    const KernelActivityRecord& ran = found->second;
    EXPECT_EQ(launch.name, ran.name);
    EXPECT_EQ(launch.grid.x, ran.grid.x);
    ASSERT_TRUE(spool.streams.contains(launch.stream));
    EXPECT_EQ(spool.streams.at(launch.stream), ran.stream_id);
    EXPECT_LE(ran.time_ns, ran.end_ns);
    EXPECT_LE(last_end[launch.stream], ran.time_ns + kResolution)
        << "operations of a stream follow each other";
    last_end[launch.stream] = ran.end_ns;
  }
  // Those before memory was short were not timed, and those that ran last not read back any more.
  EXPECT_LE(spool.launches.size() / 2, timed);
  EXPECT_GE(spool.launches.size(), spool.kernels.size());
  std::size_t copies = 0;
  for (const auto& copy : spool.copies) {
    const auto found = spool.copy_activity.find(static_cast<std::uint32_t>(copy.operation));
    if (found == spool.copy_activity.end()) continue;
    ++copies;
    EXPECT_EQ(copy.bytes, found->second.bytes);
    if (copy.bytes > 100'000) {
      EXPECT_LT(found->second.time_ns, found->second.end_ns) << "large copies take time";
    }
    EXPECT_LE(copy.time_ns, found->second.time_ns) << "nothing runs before it is asked for";
  }
  EXPECT_LT(20U, copies);
}

}  // namespace
}  // namespace tferry::end_to_end
