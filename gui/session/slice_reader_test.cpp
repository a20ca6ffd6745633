#include "gui/session/slice_reader.hpp"

#include "gui/session/event_facts.hpp"
#include "gui/session/open_session.hpp"
#include "gui/session/search.hpp"
#include "gui/testing/session_maker.hpp"
#include "trace/session_detail.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::gui {
namespace {

class SliceReaderTest : public ::testing::Test {
 protected:
  std::unique_ptr<OpenSession> open() { return OpenSession::open(path_); }
  static int lane_of(const OpenSession& session, LaneKind kind) {
    for (std::size_t i = 0; i < session.overview->lanes.size(); ++i) {
      if (session.overview->lanes[i].kind == kind) return static_cast<int>(i);
    }
    return -1;
  }
  static const Slice& slice(const PicturePtr& picture, int lane) {
    return *picture->slices.at(static_cast<std::size_t>(lane));
  }
  static std::int64_t at(std::int64_t us) { return SessionMaker::at(us); }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "s.tferry";
};

TEST_F(SliceReaderTest, FindsTheLanesOfASession) {
  SessionMaker(path_)
      .kernel("a", 10, 20)
      .copy_in(4096, 12, 18)
      .counter("pcie__read_bytes.sum", 5000, 0, 20)
      .allocation(1 << 20, 5, 30)
      .publish();
  const auto session = open();
  std::string titles;
  ASSERT_EQ(session->overview->groups.size(), 1u);
  for (const int lane : session->overview->groups[0].lanes)
    titles += session->overview->lanes[static_cast<std::size_t>(lane)].title.toStdString() + "|";
  EXPECT_EQ(titles, "Stream 7|Copies host → GPU|PCIe to the GPU|Memory|");
  EXPECT_EQ(session->overview->range, (TimeRange{at(5), at(30)}));
  EXPECT_EQ(session->overview->groups[0].title.toStdString(), "GPU 0   Test GPU   ·   process 77");
}

TEST_F(SliceReaderTest, ShowsSingleEventsWhereTheyCanBeToldApart) {
  SessionMaker(path_).kernel("a", 10, 20).kernel("b", 20, 25).kernel("c", 500, 600).publish();
  const auto session = open();
  const auto picture = session->reader->read({at(0), at(100)}, 100);
  const Slice& stream = slice(picture, lane_of(*session, LaneKind::kStream));
  ASSERT_EQ(stream.items.size(), 2u);
  EXPECT_EQ(session->names->full(stream.items[1].name_id).toStdString(), "b");
  EXPECT_EQ(stream.items[1].end_ns, at(25));
}

TEST_F(SliceReaderTest, SummarisesWhatSharesAPixel) {
  SessionMaker maker(path_);
  for (int i = 0; i < 100; ++i) maker.kernel(i % 10 == 0 ? "rare" : "often", i * 2, i * 2 + 1);
  maker.publish();
  const auto session = open();
  const auto picture = session->reader->read({at(0), at(200)}, 100'000);
  const Slice& stream = slice(picture, lane_of(*session, LaneKind::kStream));
  ASSERT_LE(stream.items.size(), 3u);
  std::int64_t events = 0;
  for (const Item& item : stream.items) events += item.count;
  EXPECT_EQ(events, 100);
  EXPECT_NEAR(stream.items[0].busy, 0.5, 0.02);
  EXPECT_EQ(session->names->full(stream.items[0].name_id).toStdString(), "often");
}

TEST_F(SliceReaderTest, AnEventThatBeganLongBeforeIsThere) {
  SessionMaker(path_).kernel("long", 0, 10'000).kernel("after", 10'000, 10'010).publish();
  const auto session = open();
  const auto picture = session->reader->read({at(5'000), at(5'001)}, 1);
  EXPECT_EQ(slice(picture, lane_of(*session, LaneKind::kStream)).items.size(), 1u);
}

TEST_F(SliceReaderTest, RangesOfAThreadAreNested) {
  SessionMaker(path_)
      .kernel("k", 0, 1)
      .marker("step", 0, 100)
      .marker("forward", 10, 40)
      .marker("layer", 12, 20)
      .marker("backward", 40, 90)
      .publish();
  const auto session = open();
  const int lane = lane_of(*session, LaneKind::kMarkers);
  EXPECT_EQ(session->overview->lanes[static_cast<std::size_t>(lane)].rows, 3);
  const auto picture = session->reader->read({at(0), at(100)}, 1);
  std::string rows;
  for (const Item& item : slice(picture, lane).items) rows += std::to_string(item.row);
  EXPECT_EQ(rows, "0121");
}

TEST_F(SliceReaderTest, RecordedCopiesExplainTheirPartOfTheTraffic) {
  // 10 GB/s sampled over 100 us, half of it by a copy of half a million bytes.
  SessionMaker(path_)
      .kernel("k", 0, 1)
      .counter("pcie__read_bytes.sum", 1e6, 0, 100)
      .copy_in(500'000, 0, 100)
      .publish();
  const auto session = open();
  const auto picture = session->reader->read({at(0), at(100)}, 1);
  const Slice& curve = slice(picture, lane_of(*session, LaneKind::kCounter));
  ASSERT_EQ(curve.samples.size(), 1u);
  EXPECT_NEAR(curve.samples[0].mean, 10e9, 1);
  EXPECT_NEAR(curve.samples[0].part, 5e9, 1);
}

TEST_F(SliceReaderTest, MemoryIsWhatIsAllocatedAndItsPeakIsKnown) {
  SessionMaker(path_).kernel("k", 0, 1).allocation(100, 0, 50).allocation(30, 20, 30).publish();
  const auto session = open();
  const auto picture = session->reader->read({at(0), at(60)}, 1);
  EXPECT_EQ(picture->memory_peak_ns, at(20));
  double highest = 0;
  for (const Sample& sample : slice(picture, lane_of(*session, LaneKind::kMemory)).samples)
    highest = std::max(highest, sample.high);
  EXPECT_EQ(highest, 130);
}

TEST_F(SliceReaderTest, MemoryIsTakenWhenTheGpuComesToIt) {
  // Two kernels called at once; between the calls the program allocates what the second one needs.
  SessionMaker maker(path_);
  maker.kernel("first", 10, 50).kernel("second", 60, 90).allocation(100, 2, 4);
  maker.writer().execute("UPDATE kernel SET call_ns = CASE start_ns WHEN " + std::to_string(at(10)) +
                         " THEN " + std::to_string(at(1)) + " ELSE " + std::to_string(at(3)) + " END");
  maker.publish();
  const auto session = open();
  const auto picture = session->reader->read({at(0), at(200)}, 1);
  const auto& samples = slice(picture, lane_of(*session, LaneKind::kMemory)).samples;
  const auto held =
      std::find_if(samples.begin(), samples.end(), [](const Sample& s) { return s.high == 100; });
  ASSERT_NE(held, samples.end());
  EXPECT_EQ(held->start_ns, at(60)) << "until then the second kernel waits";
  EXPECT_EQ(held->end_ns, at(90)) << "freed by the program at 4, which comes after the second kernel";
  EXPECT_EQ(picture->memory_peak_ns, at(60));
}

TEST_F(SliceReaderTest, AJobThatWasRecordedInPartOpensThere) {
  SessionMaker maker(path_);
  maker.kernel("k", 5000, 6000).allocation(100, 0, 10'000);
  maker.writer().insert(trace::RecordedRangeRow{
      .process_id = 1, .number = 0, .what = "steps", .start_ns = at(5000), .end_ns = at(6000)});
  maker.publish();
  const auto session = open();
  EXPECT_EQ(session->overview->range, (TimeRange{at(0), at(10'000)}));
  EXPECT_EQ(session->overview->shown_first, (TimeRange{at(4980), at(6020)}));
  const auto& warnings = session->overview->warnings;
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const QString& warning) {
    return warning == QStringLiteral("Recorded in part: steps.");
  }));
}

TEST_F(SliceReaderTest, ACancelledReadGivesNothing) {
  SessionMaker maker(path_);
  for (int i = 0; i < 10'000; ++i) maker.kernel("k", i, i + 1);
  maker.publish();
  const auto session = open();
  EXPECT_EQ(session->reader->read({at(0), at(10'000)}, 1, [] { return true; }), nullptr);
}

TEST_F(SliceReaderTest, SummariesOfTheSessionTellTheSameAsItsEvents) {
  SessionMaker maker(path_);
  for (int i = 0; i < 60'000; ++i) maker.kernel(i % 7 == 0 ? "a" : "b", i * 2, i * 2 + 1);
  maker.publish();
  const auto plain = open();
  const double resolution = 64'000;
  const TimeRange range = plain->overview->range;
  const auto events = plain->reader->read(range, resolution);
  trace::Database database(path_, trace::Database::Mode::kReadWrite);
  database.execute("BEGIN");
  trace::create_detail(database, 1);
  database.execute("COMMIT");
  const auto summarised = open();
  ASSERT_TRUE(summarised->overview->has_detail);
  const auto summaries = summarised->reader->read(range, resolution);
  const auto total = [&](const PicturePtr& picture, const OpenSession& session) {
    double busy = 0;
    std::int64_t count = 0;
    for (const Item& item : slice(picture, lane_of(session, LaneKind::kStream)).items) {
      busy += static_cast<double>(item.busy) * static_cast<double>(item.end_ns - item.start_ns);
      count += item.count;
    }
    return std::pair(count, busy);
  };
  EXPECT_EQ(total(events, *plain).first, 60'000);
  EXPECT_EQ(total(summaries, *summarised).first, 60'000);
  EXPECT_NEAR(total(summaries, *summarised).second / total(events, *plain).second, 1, 0.02);
}

TEST_F(SliceReaderTest, SearchFindsNamesAndGoesFromOneEventToTheNext) {
  SessionMaker(path_).kernel("_Z4gemmv", 0, 1).kernel("relu", 5, 6).kernel("_Z4gemmv", 9, 12).publish();
  const auto session = open();
  const SearchResult result = search_names(*session->names, "^GEMM");
  ASSERT_EQ(result.names.size(), 1u);
  EXPECT_FALSE(search_names(*session->names, "(").error.isEmpty());
  const FoundEvent next = next_named(session->session, *session->overview, result.names, -1, at(0), 1);
  EXPECT_EQ(next.range, (TimeRange{at(9), at(12)}));
  EXPECT_EQ(next_named(session->session, *session->overview, result.names, -1, at(9), 1).event.id, 0);
  EXPECT_EQ(next_in_lane(session->session, *session->overview, next.lane, at(9), -1).range.from_ns, at(5));
}

TEST_F(SliceReaderTest, FactsTellEverythingAboutAnEvent) {
  SessionMaker(path_).kernel("_Z4gemmv", 3, 7).publish();
  const auto session = open();
  const EventRef event = session->reader->event_at(lane_of(*session, LaneKind::kStream), at(4), 10);
  const EventFacts facts = event_facts(session->session, *session->names, *session->overview, event);
  EXPECT_EQ(facts.title.toStdString(), "gemm()");
  ASSERT_GE(facts.facts.size(), 4u);
  EXPECT_EQ(facts.facts[1].first.toStdString(), "takes");
  EXPECT_TRUE(facts.facts[1].second.startsWith(QLatin1Char('4')));
  EXPECT_TRUE(event_facts(session->session, *session->names, *session->overview, {EventTable::kKernel, 999})
                  .facts.empty());
}

TEST(BriefNameTest, IsTheFunctionsOwnName) {
  EXPECT_EQ(brief_name("void at::native::vectorized_elementwise_kernel<4, at::native::F<float>, "
                       "std::array<char*, 1> >(int, float)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(brief_name("at::native::(anonymous namespace)::layer_norm_kernel<float>(int)"),
            "layer_norm_kernel");
  EXPECT_EQ(brief_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128>(cutlass_80::Params)"),
            "cutlass_80_simt_sgemm_256x128");
  EXPECT_EQ(brief_name("sm80_xmma_gemm_f32"), "sm80_xmma_gemm_f32");
}

}  // namespace
}  // namespace tferry::gui
