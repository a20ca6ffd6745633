// Session in, report, expected text.
#include "cli/report/reports.hpp"

#include "cli/failure.hpp"
#include "cli/report/memory_by.hpp"
#include "cli/report/render.hpp"
#include "cli/testing/layers_session.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace tferry::cli {
namespace {

using testing_support::LayersSession;

class ReportsTest : public testing::Test {
 protected:
  std::string report(const std::string& name, const ScopeOptions& options = {}) {
    trace::Session session = trace::Session::open(path_);
    const Scope scope(session, options);
    return render(find_report(name).make(scope), Format::kTable, path_);
  }

  trace::SessionWriter one_gpu() {
    trace::SessionWriter writer = trace::SessionWriter::create(path_);
    writer.insert(trace::ProcessRow{.id = 1, .pid = 7});
    writer.insert(trace::DeviceRow{.id = 1});
    return writer;
  }

  testing_support::TemporaryDirectory directory_;
  std::string path_ = (directory_.path() / "a.tferry").string();
};

TEST_F(ReportsTest, KernelsByTime) {
  LayersSession{}.write(path_);
  EXPECT_EQ(report("kernels"),
            "Kernels by the time they take (measured)\n"
            "  name           gpu  launches     total   share     mean  shortest  longest\n"
            "  second         0           6  18.00 us  75.0 %  3.00 us   3.00 us  3.00 us\n"
            "  first(float*)  0           6   6.00 us  25.0 %  1.00 us   1.00 us  1.00 us\n");
}

TEST_F(ReportsTest, KernelsByWhatTheyReachThroughPointersInDeviceMemory) {
  LayersSession{}.write(path_);
  trace::Database database(path_, trace::Database::Mode::kReadWrite);
  database.execute(
      "INSERT INTO access(process_id, operation, allocation_id, \"offset\", bytes, kind, known_by) SELECT "
      "process_id, "
      "operation, 3, 0, 2097152, 2, 6 FROM kernel JOIN string ON string.id = name_id WHERE string.value = "
      "'second'");
  database.close();
  const std::string text = report("kernels");
  EXPECT_NE(text.find("Memory that kernels reach by pointers in device memory (measured)\n"
                      "  name    gpu  launches  allocations   touched  first access\n"
                      "  second  0           6            1  12.0 MiB  read\n"),
            std::string::npos)
      << text;
}

TEST_F(ReportsTest, WithoutTimesTheyAreUnknownAndNotZero) {
  LayersSession{.timed = false}.write(path_);
  const std::string text = report("kernels");
  EXPECT_NE(text.find("  second         0           6  unknown  unknown  unknown   unknown  unknown\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("note: 12 launches have unknown times"), std::string::npos) << text;
  EXPECT_NE(report("launch").find("unknown: no kernel has both"), std::string::npos);
}

TEST_F(ReportsTest, TimesAndRowsCanBeNarrowed) {
  LayersSession{}.write(path_);
  const std::string some = report("kernels", {.from = "9us", .to = "19us", .top = 1});
  EXPECT_NE(some.find("second  0           1"), std::string::npos) << some;
  EXPECT_NE(some.find("note: 1 more kernels; --top 0 shows all"), std::string::npos) << some;
  EXPECT_EQ(report("kernels", {.gpu = 0, .rank = 0}), report("kernels"));
  EXPECT_THROW(report("kernels", {.gpu = 1}), Failure);
  EXPECT_THROW(report("kernels", {.rank = 1}), Failure);
  EXPECT_THROW(report("kernels", {.from = "2s", .to = "1s"}), Failure);
  EXPECT_THROW(report("kernels", {.from = "soon"}), Failure);
}

// Three iterations of four micro-batches, of which the first and the last exchange gradients.
TEST_F(ReportsTest, AnalysisTellsAccumulationAndHowOftenRanksWaitForEachOther) {
  LayersSession{}.write(path_);
  trace::Database database(path_, trace::Database::Mode::kReadWrite);
  for (const char* number : {"0", "1", "2"}) {
    const std::string n = number, collectives = n == "1" ? "0" : "6";
    database.execute(
        "INSERT INTO iteration(id, process_id, number, start_ns, end_ns, first_operation, last_operation, "
        "regular, "
        "source, micro_batches, synchronisations) VALUES (" +
        n + " + 1, 1, " + n + ", " + n + " * 100, " + n + " * 100 + 100, 0, 0, 1, 'period', 4, " +
        collectives +
        "); INSERT INTO operation(process_id, operation, iteration_id, position, kind, device_id, call_ns, "
        "start_ns) "
        "VALUES (1, " +
        n + ", " + n + " + 1, 0, 'kernel', 1, " + n + " * 100, " + n + " * 100)");
  }
  const std::string text = report("analysis");
  EXPECT_NE(text.find("process 4711, GPU 0: an iteration is made of 4 micro-batches"), std::string::npos)
      << text;
  EXPECT_NE(text.find("ranks wait for each other at 6 operations of an iteration, every 2 iterations"),
            std::string::npos)
      << text;
}

// Half of 2,000 cycles in a microsecond, then all of 1,500 in another.
TEST_F(ReportsTest, TheSummaryTellsClockAndUseOfMultiprocessors) {
  LayersSession{}.write(path_);
  EXPECT_EQ(report("summary").find("SMs active"), std::string::npos) << "not sampled: not told";
  trace::Database(path_, trace::Database::Mode::kReadWrite)
      .execute(
          "INSERT INTO string(id, value) VALUES (901, 'sm__cycles_active.avg'), (902, "
          "'gpc__cycles_elapsed.max');"
          "INSERT INTO counter(name_id, device_id, start_ns, end_ns, value) VALUES (901, 1, 0, 1000, 1000), "
          "(902, 1, 0, 1000, 2000), (901, 1, 1000, 2000, 1500), (902, 1, 1000, 2000, 1500)");
  const std::string text = report("summary");
  EXPECT_NE(text.find("SMs active, GPU 0           71.4 %"), std::string::npos) << text;
  EXPECT_NE(text.find("clock of SMs, GPU 0      1.750 GHz"), std::string::npos) << text;
}

TEST_F(ReportsTest, TransfersByDirectionWithTheirRate) {
  LayersSession{}.write(path_);
  EXPECT_EQ(report("transfers"),
            "Copies by direction (measured)\n"
            "  whose    gpu  direction       host memory  copies    bytes      time        rate\n"
            "  program  0    host_to_device  pinned            6  234 KiB  24.00 us  10.00 GB/s\n"
            "\n"
            "Bytes by the hardware counters, of everything that used the GPU\n"
            "  nothing\n"
            "  note: unknown: no counters were sampled; see tferry report quality\n");
}

TEST_F(ReportsTest, MemoryAtItsPeak) {
  LayersSession{}.write(path_);
  EXPECT_EQ(
      report("memory"),
      "GPU memory that the program allocated (measured)\n"
      "  process  gpu      peak  peak after  alive at peak  movable at peak  allocations  never freed  "
      "budget\n"
      "     4711  0    24.0 MiB     1.00 us              3         24.0 MiB            3     24.0 MiB  none\n"
      "\n"
      "Alive at the peak of GPU 0, by category (unknown)\n"
      "  category  together  number    share\n"
      "   unknown  24.0 MiB       3  100.0 %\n"
      "  note: 24.0 MiB have no name: tferry profile --names pytorch records them, NVTX ranges of the "
      "program do; tferry analyze carries them over to later iterations\n"
      "\n"
      "Alive at the peak of GPU 0, by size (measured)\n"
      "      each  number  together     life  movable  category  name\n"
      "  8.00 MiB       3  24.0 MiB  unknown  yes       unknown  -\n"
      "  note: life is unknown until tferry analyze has matched tensors\n");
}

TEST_F(ReportsTest, MemoryAtItsPeakIsNamedByTheProgramWhereItDid) {
  LayersSession{}.write(path_);
  trace::Database(path_, trace::Database::Mode::kReadWrite)
      .execute(
          "INSERT INTO allocation_name SELECT id, 'layers.0.weight', 'weight', 'pytorch' FROM allocation "
          "ORDER BY "
          "id LIMIT 1; INSERT INTO allocation_name SELECT id, 'forward', NULL, 'nvtx' FROM allocation ORDER "
          "BY id "
          "LIMIT 1");
  const std::string text = report("memory");
  EXPECT_NE(text.find("weight    8.00 MiB       1  33.3 %"), std::string::npos) << text;
  EXPECT_NE(text.find("weight    layers.0.weight"), std::string::npos) << text;
}

TEST_F(ReportsTest, LaunchesRunAheadOfTheGpu) {
  LayersSession{}.write(path_);
  const std::string text = report("launch");
  EXPECT_NE(text.find("     4711  0          12          500 ns  500 ns         500 ns   500 ns"),
            std::string::npos)
      << text;
}

TEST_F(ReportsTest, QualityCountsWhatIsMissing) {
  LayersSession{.hooked = false}.write(path_);
  const std::string text = report("quality");
  EXPECT_NE(text.find("     4711  kernel  bad_time      2  -\n"), std::string::npos) << text;
  EXPECT_NE(text.find("calls that the hooks saw"), std::string::npos) << text;
  EXPECT_NE(report("memory").find("unknown: no allocations were recorded"), std::string::npos);
}

TEST_F(ReportsTest, MemoryTellsWhatWasDoneToPools) {
  {
    trace::SessionWriter writer = one_gpu();
    using Kind = trace::PoolOperationKind;
    const auto call = [&](std::int64_t time, Kind kind, std::optional<std::int64_t> device,
                          std::optional<std::int64_t> attribute, std::optional<std::int64_t> value) {
      writer.insert(trace::PoolOperationRow{.process_id = 1,
                                            .device_id = device,
                                            .kind = kind,
                                            .pool = 0x77,
                                            .attribute = attribute,
                                            .value = value,
                                            .start_ns = time});
    };
    call(1000, Kind::kCreate, 1, {}, {});
    call(2000, Kind::kSetAttribute, {}, 4, 64);
    call(4000, Kind::kTrim, {}, {}, 9);
    call(3000, Kind::kTrim, {}, {}, 5);
    writer.publish();
  }
  trace::Session session = trace::Session::open(path_);
  const Scope scope(session, {});
  const std::string text = render(find_report("memory").make(scope), Format::kCsv, path_);
  EXPECT_NE(text.find("7,0,0x77,create,-,1,"), std::string::npos) << text;
  EXPECT_NE(text.find("7,0,0x77,set_attribute,release_threshold,1,"), std::string::npos) << text;
  EXPECT_NE(text.find("7,0,0x77,trim,-,2,"), std::string::npos) << text;
  EXPECT_NE(text.find(",9,measured"), std::string::npos) << "the last trim's value: " << text;
}

TEST_F(ReportsTest, SummaryBeforeAnAnalysisSaysWhatToDo) {
  LayersSession{}.write(path_);
  const std::string text = report("summary");
  EXPECT_NE(text.find("python3 train.py"), std::string::npos) << text;
  EXPECT_NE(text.find("NVIDIA H200"), std::string::npos) << text;
  EXPECT_NE(text.find("not analyzed yet: tferry analyze"), std::string::npos) << text;
  EXPECT_NE(report("tensors").find("run tferry analyze"), std::string::npos);
  EXPECT_NE(report("analysis").find("run tferry analyze"), std::string::npos);
}

TEST_F(ReportsTest, TensorsSayInHowManyIterationsTheyWereMatched) {
  trace::SessionWriter writer = one_gpu();
  writer.set_meta("analysis.created", "now");
  for (std::int64_t i = 1; i <= 5; ++i) {
    writer.insert(
        trace::IterationRow{.process_id = 1, .number = i - 1, .start_ns = 10 * i, .regular = i != 3});
    for (std::int64_t at = 0; at < 2; ++at) {
      writer.insert(trace::OperationRow{.process_id = 1,
                                        .operation = 2 * i + at,
                                        .iteration_id = i,
                                        .position = at,
                                        .kind = "kernel",
                                        .device_id = 1});
    }
  }
  for (const auto& [name, persistent, instances] :
       {std::tuple{"weight", 1, 1}, std::tuple{"activation", 0, 4}, std::tuple{"workspace", 0, 3}}) {
    writer.insert(trace::TensorRow{
        .process_id = 1, .device_id = 1, .name = name, .persistent = persistent, .instances = instances});
  }
  writer.publish();
  const std::string text = report("tensors");
  EXPECT_NE(text.find("instances  of iterations"), std::string::npos) << text;
  EXPECT_NE(text.find("1  -              weight"), std::string::npos) << text;
  EXPECT_NE(text.find("4  4              activation"), std::string::npos) << text;
  EXPECT_NE(text.find("3  4              workspace"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of them not matched in all iterations"), std::string::npos) << text;
}

TEST(Reports, AnUnknownNameListsTheOthers) {
  try {
    find_report("wheather");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(failure.remedy().find("summary kernels transfers"), std::string::npos) << failure.remedy();
  }
}

TEST(Reports, EveryReportCopesWithAnEmptySession) {
  const testing_support::TemporaryDirectory directory;
  const std::string path = (directory.path() / "empty.tferry").string();
  trace::SessionWriter::create(path).publish();
  trace::Session session = trace::Session::open(path);
  const Scope scope(session, {});
  for (const ReportKind& kind : report_kinds()) {
    EXPECT_NE(render(kind.make(scope), Format::kTable, path), "") << kind.name;
  }
}

TEST_F(ReportsTest, MemoryAtThePeakByCategoryAndModule) {
  {
    trace::SessionWriter writer = one_gpu();
    const auto allocation = [&](std::int64_t id, std::int64_t bytes) {
      trace::AllocationRow row{.id = id, .process_id = 1, .device_id = 1, .allocation = id};
      row.bytes = row.reserved_bytes = bytes;
      row.alloc_ns = id;
      row.memory_kind = trace::MemoryKind::kDevice;
      writer.insert(row);
    };
    const auto name = [&](std::int64_t id, const char* text, const char* category) {
      writer.insert(trace::AllocationNameRow{
          .allocation_id = id, .name = text, .category = category, .source = "pytorch"});
    };
    allocation(1, 400);
    allocation(2, 200);
    allocation(3, 300);
    allocation(4, 100);
    name(1, "mlp.in.weight", "weight");
    name(2, "mlp.in.weight.exp_avg", "optimizer");
    name(3, "mlp.in", "activation");
    writer.publish();
  }
  trace::Session session = trace::Session::open(path_);
  const Scope scope(session, {});
  const std::string text = render(report_memory_by(scope, {"category", "module"}), Format::kCsv, path_);
  EXPECT_EQ(text,
            "category,module,together,number,share,known_by\n"
            "weight,mlp.in,400,1,0.4,measured\n"
            "activation,mlp.in,300,1,0.3,measured\n"
            "optimizer,mlp.in,200,1,0.2,measured\n"
            ",,100,1,0.1,unknown\n");
  EXPECT_NE(render(report_memory_by(scope, {"name"}), Format::kTable, path_).find("100 B have no name"),
            std::string::npos);
}

TEST_F(ReportsTest, MemoryThatNothingFillsIsTold) {
  constexpr std::int64_t kMiB = 1 << 20;
  {
    trace::SessionWriter writer = one_gpu();
    const auto allocation = [&](std::int64_t id, std::int64_t address, std::int64_t asked,
                                std::int64_t reserved, std::optional<std::int64_t> freed = {}) {
      trace::AllocationRow row{.id = id, .process_id = 1, .device_id = 1, .allocation = id};
      row.address = address;
      row.bytes = asked;
      row.reserved_bytes = reserved;
      row.alloc_ns = id;
      row.free_ns = freed;
      row.memory_kind = trace::MemoryKind::kDevice;
      writer.insert(row);
    };
    allocation(1, 4 * kMiB, 3 * kMiB - 100, 3 * kMiB);  // a page and a half
    allocation(2, 7 * kMiB, kMiB / 2, kMiB / 2);        // a quarter of the second page
    allocation(3, 16 * kMiB, 2 * kMiB, 2 * kMiB, 9);    // a whole page
    allocation(4, 32 * kMiB, kMiB / 4, kMiB / 4);
    writer.publish();
  }
  trace::Session session = trace::Session::open(path_);
  const Scope scope(session, {});
  const auto by = [&](const std::string& at) {
    return render(report_memory_by(scope, {"category", "module"}, at), Format::kCsv, path_);
  };
  EXPECT_EQ(by("peak"),
            "category,module,together,number,share,known_by\n"
            ",,6029212,4,0.9999834143597147,unknown\n"
            "unused: rounded up,-,100,1,1.6585640285326086e-05,measured\n"
            "unused: fragments,-,2359296,2,0.391304347826087,assumed\n");
  EXPECT_EQ(by("9ns"),
            "category,module,together,number,share,known_by\n"
            ",,3932060,3,0.9999745686848959,unknown\n"
            "unused: rounded up,-,100,1,2.5431315104166668e-05,measured\n"
            "unused: fragments,-,2359296,2,0.6,assumed\n")
      << "what is freed at that moment is gone";
  EXPECT_EQ(by("0ns"), "category,module,together,number,share,known_by\n") << "nothing is alive yet";
  EXPECT_THROW(by("soon"), Failure);
}

}  // namespace
}  // namespace tferry::cli
