#include "cli/session/store_links.hpp"

#include "cli/testing/temporary_directory.hpp"
#include "trace/session.hpp"
#include "trace/session_writer.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

using trace::CalibratedFigure;

CalibratedFigure figure(const char* what, std::vector<int> gpus, int gpu, const char* direction, double rate,
                        const char* beside = "", const char* memory = "pinned") {
  return {.what = what,
          .gpus = std::move(gpus),
          .gpu = gpu,
          .direction = direction,
          .memory = memory,
          .beside = beside,
          .bytes = 16 << 20,
          .unit = "bytes/s",
          .median = rate,
          .low = rate,
          .high = rate,
          .count = 5};
}

/// Two GPUs behind a switch, a third at a root port of its own.
HostFacts machine() {
  HostFacts facts;
  facts.host = "node7";
  facts.links = {{.address = "0000:16:00.0",
                  .upstream = "0000:15:01.0",
                  .numa_node = 0,
                  .now = {4, 16},
                  .most = {5, 16}},
                 {.address = "0000:50:00.0",
                  .upstream = "0000:4f:01.0",
                  .gpu = true,
                  .numa_node = 1,
                  .now = {5, 16},
                  .most = {5, 16}},
                 {.address = "0000:18:00.0",
                  .upstream = "0000:17:00.0",
                  .parent = "0000:16:00.0",
                  .gpu = true,
                  .numa_node = 0,
                  .now = {5, 16},
                  .most = {5, 16}},
                 {.address = "0000:19:00.0",
                  .upstream = "0000:17:01.0",
                  .parent = "0000:16:00.0",
                  .gpu = true,
                  .numa_node = 0,
                  .now = {5, 8},
                  .most = {5, 16}}};
  trace::Calibration& calibration = facts.calibration.emplace();
  calibration.gpus = {{.ordinal = 0, .uuid = "GPU-a", .pci_address = "0000:18:00.0"},
                      {.ordinal = 1, .uuid = "GPU-b", .pci_address = "0000:19:00.0"},
                      {.ordinal = 2, .uuid = "GPU-c", .pci_address = "0000:50:00.0"}};
  for (const int gpu : {0, 1, 2}) {
    calibration.figures.push_back(figure("copy", {gpu}, gpu, "h2d", 55e9));
    calibration.figures.push_back(figure("copy", {gpu}, gpu, "d2h", 54e9));
    calibration.figures.push_back(figure("copy", {gpu}, gpu, "h2d", 46e9, "d2h"));
    calibration.figures.push_back(figure("copy", {gpu}, gpu, "d2h", 45e9, "h2d"));
  }
  calibration.figures.push_back(figure("group", {0, 1}, -1, "h2d", 56e9));
  calibration.figures.push_back(figure("group", {0, 1}, -1, "d2h", 57e9));
  calibration.figures.push_back(figure("peer", {0, 1}, 1, "peer", 390e9, "", "device"));
  calibration.figures.push_back(figure("peer", {1, 0}, 0, "peer", 391e9, "", "device"));
  return facts;
}

class StoreLinksTest : public testing::Test {
 protected:
  /// The session of a recording that saw GPUs with these UUIDs at the machine's three places.
  trace::Session stored(const HostFacts& facts, std::vector<const char*> uuids) {
    trace::SessionWriter writer = trace::SessionWriter::create(path_);
    const char* places[] = {"0000:18:00.0", "0000:19:00.0", "0000:50:00.0"};
    for (std::size_t i = 0; i < uuids.size(); ++i) {
      writer.insert(trace::DeviceRow{.uuid = uuids[i], .pci_address = places[i]});
    }
    store_links(writer, facts);
    writer.publish();
    return trace::Session::open(path_);
  }
  testing_support::TemporaryDirectory directory_;
  std::string path_ = (directory_.path() / "a.tferry").string();
};

TEST_F(StoreLinksTest, TheTreeGoesFromTheHostToEachGpu) {
  trace::Session session = stored(machine(), {"GPU-a", "GPU-b", "GPU-c"});
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE kind = 'host'"), 2);
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE kind = 'pcie'"), 4);
  EXPECT_EQ(session.integer(
                "SELECT count(*) FROM link AS gpu JOIN link AS up ON up.id = gpu.parent_id JOIN link AS host "
                "ON host.id = up.parent_id WHERE gpu.device_id IN (1, 2) AND up.downstream = '0000:16:00.0' "
                "AND host.kind = 'host' AND host.downstream = 'node0'"),
            2);
  EXPECT_EQ(session.integer("SELECT pcie_generation FROM link WHERE downstream = '0000:16:00.0'"), 4);
  EXPECT_EQ(
      session.integer("SELECT pcie_width_most - pcie_width FROM link WHERE downstream = '0000:19:00.0'"), 8);
}

TEST_F(StoreLinksTest, AnEdgeAboveSeveralGpusHasWhatTheseReachTogether) {
  trace::Session session = stored(machine(), {"GPU-a", "GPU-b", "GPU-c"});
  EXPECT_EQ(session.integer("SELECT h2d_bytes_per_second FROM link WHERE downstream = '0000:16:00.0'"),
            56'000'000'000);
  EXPECT_EQ(
      session.integer("SELECT d2h_bytes_per_second FROM link WHERE kind = 'host' AND downstream = 'node0'"),
      57'000'000'000);
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE kind = 'host' AND downstream = 'node1' AND "
                            "h2d_bytes_per_second IS NULL"),
            1);
  EXPECT_EQ(session.integer("SELECT duplex_d2h_bytes_per_second FROM link WHERE device_id = 2"),
            45'000'000'000);
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE device_id IS NOT NULL AND kind = 'pcie' AND "
                            "known_by = 'measured'"),
            3);
}

TEST_F(StoreLinksTest, NvlinkHasBothDirections) {
  trace::Session session = stored(machine(), {"GPU-a", "GPU-b", "GPU-c"});
  EXPECT_EQ(
      session.integer("SELECT h2d_bytes_per_second FROM link WHERE kind = 'nvlink' AND upstream = 'GPU-a'"),
      390'000'000'000);
  EXPECT_EQ(session.integer("SELECT d2h_bytes_per_second FROM link WHERE kind = 'nvlink' AND device_id = 2"),
            391'000'000'000);
}

TEST_F(StoreLinksTest, WaysByANeighbourHaveWhatWasMeasuredOfThem) {
  HostFacts facts = machine();
  auto& figures = facts.calibration->figures;
  for (const char* way : {"h2d", "d2h", "both"}) {
    const double twice = std::string(way) == "both" ? 2 : 1;
    figures.push_back(figure("relay", {0, 2}, 0, way, twice * 54e9, "idle"));
    figures.push_back(figure("relay", {0, 2}, 0, way, 20e9, "busy"));
    figures.push_back(figure("relay", {0, 2}, 0, way, 50e9, "direct"));
    figures.push_back(figure("relay", {0, 2}, -1, way, twice * 100e9, "direct"));
  }
  trace::Session session = stored(facts, {"GPU-a", "GPU-b", "GPU-c"});
  EXPECT_EQ(session.integer("SELECT h2d_bytes_per_second FROM link WHERE kind = 'neighbour'"),
            54'000'000'000);
  EXPECT_EQ(session.integer("SELECT d2h_bytes_per_second FROM link WHERE kind = 'both' AND device_id = 1 AND "
                            "upstream = '0000:50:00.0'"),
            100'000'000'000);
  EXPECT_EQ(session.integer("SELECT duplex_h2d_bytes_per_second FROM link WHERE kind = 'both'"),
            100'000'000'000);
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE kind IN ('neighbour', 'both')"), 2)
      << "GPU 1 was not measured";
}

TEST_F(StoreLinksTest, AnotherCardInTheSamePlaceHasNoRates) {
  trace::Session session = stored(machine(), {"GPU-x", "GPU-b", "GPU-c"});
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE device_id = 1 AND h2d_bytes_per_second IS NULL "
                            "AND known_by = 'unknown'"),
            1);
}

TEST_F(StoreLinksTest, WithoutATreeEachGpuStillHasAnEdge) {
  HostFacts facts = machine();
  facts.links.clear();
  trace::Session session = stored(facts, {"GPU-a", "GPU-b"});
  EXPECT_EQ(session.integer("SELECT count(*) FROM link WHERE kind = 'pcie' AND upstream = 'host' AND "
                            "h2d_bytes_per_second = 55e9"),
            2);
}

}  // namespace
}  // namespace tferry::cli
