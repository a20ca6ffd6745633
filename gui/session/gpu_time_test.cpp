// A stream of kernels that were called ahead: where the GPU is when the host is somewhere.
#include "gui/session/gpu_time.hpp"

#include "trace/session_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace tferry::gui {
namespace {

class GpuTimeTest : public ::testing::Test {
 protected:
  /// Kernels as (call, start, end) of one stream.
  GpuTime time_of(std::initializer_list<std::tuple<std::int64_t, std::int64_t, std::int64_t>> kernels) {
    trace::SessionWriter writer =
        trace::SessionWriter::create(directory_ / "a.tferry", {.force = true, .build_directory = {}});
    for (const auto& [call, start, end] : kernels) {
      trace::KernelRow row;
      row.process_id = row.device_id.emplace(1);
      row.stream_id = 7;
      row.call_ns = call;
      row.start_ns = start;
      row.end_ns = end;
      row.owner = trace::StreamOwner::kProgram;
      writer.insert(row);
    }
    writer.publish();
    trace::Session session = trace::Session::open(directory_ / "a.tferry");
    return GpuTime::read(session).at({1, 1});
  }

  trace::TestDirectory directory_;
};

TEST_F(GpuTimeTest, IsTheEndOfWhatWasCalledBefore) {
  const GpuTime time = time_of({{10, 100, 200}, {20, 200, 300}, {500, 510, 600}});
  EXPECT_EQ(time.of(5), 5) << "nothing was called yet";
  EXPECT_EQ(time.of(15), 200) << "between two calls: the first one has to be done";
  EXPECT_EQ(time.of(25), 300);
  EXPECT_EQ(time.of(400), 400) << "the GPU has nothing left to do";
  EXPECT_EQ(time.of(505), 600);
  EXPECT_EQ(time.of(1000), 1000);
  EXPECT_EQ(GpuTime().of(5), 5);
  const GpuTime waiting = time_of({{10, 100, 200}, {20, 250, 300}});
  EXPECT_EQ(waiting.of(15), 200);
  EXPECT_EQ(waiting.needed(15), 250) << "the second one waits for its memory";
  EXPECT_EQ(waiting.needed(25), 300);
  EXPECT_EQ(time.needed(400), 400) << "the next one was not called yet";
}

TEST_F(GpuTimeTest, FindsBackWhatTheGpuStillHadToComeTo) {
  const GpuTime time = time_of({{10, 100, 200}, {20, 200, 300}, {500, 510, 600}});
  for (std::int64_t host = 0; host < 700; host += 5) {
    for (std::int64_t gpu = 0; gpu < time.of(host); gpu += 5) EXPECT_LE(time.called_after(gpu), host);
  }
  EXPECT_EQ(time.called_after(250), 20);
}

}  // namespace
}  // namespace tferry::gui
