#include "collector/sampler/sampler.hpp"

#include "collector/loss.hpp"
#include "collector/sampler/nvml_source.hpp"
#include "collector/testing/fake_nvml.hpp"
#include "collector/testing/spool_text.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tferry::collector {
namespace {

/// A GPU whose clock is `kAhead` ahead of the host's, and which counts one byte per sample.
class FakeSource final : public CounterSource {
 public:
  static constexpr std::int64_t kAhead = 5'000'000'000'000, kInterval = 100'000;
  int* starts = nullptr;
  std::string fail_start, fail_read, lacks;
  int fail_start_from = 1;  ///< the n-th start is the first that fails
  int overflow_at_read = 0;
  bool host_clock = false;

  static trace::DeviceRecord gpu() {
    trace::DeviceRecord record;
    record.device = 2;
    record.uuid[0] = 2;
    return record;
  }
  trace::DeviceRecord device() const override { return gpu(); }
  const std::vector<std::string>& counters() const override { return counters_; }
  std::string shortfall() const override { return lacks; }
  bool on_host_clock() const override { return host_clock; }
  std::string start() override {
    if (starts != nullptr) ++*starts;
    next_ = gpu_now();
    return ++started_ >= fail_start_from ? fail_start : "";
  }
  std::string stop() override { return ""; }
  std::string read(std::vector<CounterSample>& samples, bool& overflow) override {
    overflow = --overflow_at_read == 0;
    for (const std::int64_t until = gpu_now(); next_ + kInterval <= until; next_ += kInterval) {
      samples.push_back({next_, next_ + kInterval, {1e6}});  // a busy link
    }
    return fail_read;
  }

 private:
  std::int64_t gpu_now() const { return trace::SpoolWriter::now_ns() + (host_clock ? 0 : kAhead); }
  std::vector<std::string> counters_ = {"pcie__read_bytes.sum"};
  std::int64_t next_ = 0;
  int started_ = 0;
};

class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() : spool_(trace::SpoolWriter::open(path_, {.block_count = 4})) {}

  /// A GPU that is sampled by a fake of CUPTI's.
  FakeSource& add() {
    auto source = std::make_shared<std::unique_ptr<CounterSource>>(std::make_unique<FakeSource>());
    auto& reference = static_cast<FakeSource&>(**source);
    SampledGpu& gpu = gpus_.emplace_back();
    gpu.device = FakeSource::gpu();
    gpu.ways.push_back({"PM sampling", [source](SourceRefusal&) { return std::move(*source); }});
    return reference;
  }
  template <typename Source>
  CounterWay by_nvml(const std::string& name) {
    return {name, [this](SourceRefusal& refusal) -> std::unique_ptr<CounterSource> {
              const auto found = find_device(nvml_, FakeSource::gpu());
              if (found) return std::make_unique<Source>(nvml_, *found, FakeSource::gpu());
              refusal = {"NVML does not know it", trace::LossReason::kUnsupported};
              return nullptr;
            }};
  }
  /// Waits by turning, and ends after `reads` reads.
  int run(int reads) {
    const auto spin = [](std::int64_t wait_ns) {
      const std::int64_t due = trace::SpoolWriter::now_ns() + wait_ns;
      while (trace::SpoolWriter::now_ns() < due) {
      }
    };
    Sampler sampler(*spool_, std::move(gpus_),
                    {.say = [this](const std::string& text) { said_.push_back(text); }});
    const int sampling = sampler.start([&](std::int64_t) {
      spin(1'000'000);
      return true;
    });
    if (sampling > 0) {
      sampler.run(2'000'000, [&](std::int64_t wait_ns) {
        spin(wait_ns);
        return --reads > 0;
      });
    }
    spool_->close();
    return sampling;
  }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "s";
  std::unique_ptr<trace::SpoolWriter> spool_;
  std::vector<SampledGpu> gpus_;
  FakeNvml nvml_;
  std::vector<std::string> said_;
};

TEST_F(SamplerTest, SamplesStandAtHostTimeWithinTheStatedError) {
  const std::int64_t before = trace::SpoolWriter::now_ns();
  add();
  EXPECT_EQ(run(5), 1);
  const std::int64_t after = trace::SpoolWriter::now_ns();
  std::int64_t error = 0;
  int samples = 0;
  trace::SpoolReader reader(path_);
  while (const auto record = reader.next()) {
    const auto counter = record->as<trace::CounterRecord>();
    if (!counter || counter->device != 2) continue;
    if (counter->time_ns == counter->end_ns) error = static_cast<std::int64_t>(counter->value);
    if (counter->time_ns == counter->end_ns) continue;
    ++samples;
    EXPECT_GE(counter->time_ns, before - error);
    EXPECT_LE(counter->end_ns, after + error);
  }
  EXPECT_GT(samples, 20);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 1'000'000'000);
}

TEST_F(SamplerTest, TheCardIsNamedFirst) {
  add();
  run(1);
  EXPECT_EQ(spool_text(path_)[0], "device 2 -");
}

constexpr const char* kBusy = "cuptiPmSamplingStart answered CUPTI_ERROR_HARDWARE_BUSY (26)";

// DCGM#56: another tool has the counters, which CUPTI tells when sampling is to start. NVML instead, and the
// report says so.
TEST_F(SamplerTest, Dcgm56CountersThatAnotherToolHoldsGiveWayToNvml) {
  add().fail_start = kBusy;
  gpus_[0].ways.push_back(by_nvml<NvmlSource>("PCIe rates by NVML"));
  EXPECT_EQ(run(3), 1);
  const std::vector<std::string> losses = spool_text(path_, "loss");
  EXPECT_EQ(losses, std::vector<std::string>{"loss counter -1 GPU 2: no PM sampling: " + std::string(kBusy) +
                                             "; instead: PCIe rates by NVML"});
  EXPECT_EQ(said_.size(), 1u);
  const auto rates = spool_text(path_, "counter nvml.pcie_rx_kb_per_s");
  ASSERT_FALSE(rates.empty());
  EXPECT_TRUE(rates[0].ends_with(" 3000")) << rates[0];
  EXPECT_TRUE(spool_text(path_, "counter pcie__").empty());
  EXPECT_EQ(explain(CUPTI_ERROR_HARDWARE_BUSY).reason, trace::LossReason::kNotPermitted);
}

// DCGM#62: the same where it is told at once, or only when sampling goes on after an alignment.
TEST_F(SamplerTest, Dcgm62CountersThatAreTakenAwayMeanwhileGiveWayToNvml) {
  FakeSource& source = add();
  source.fail_start = kBusy;
  source.fail_start_from = 3;
  gpus_[0].ways.push_back(by_nvml<NvmlSource>("PCIe rates by NVML"));
  EXPECT_EQ(run(3), 1);
  ASSERT_EQ(spool_text(path_, "loss").size(), 1u);
  EXPECT_EQ(spool_text(path_, "loss")[0], "loss counter -1 GPU 2: PM sampling ended: " + std::string(kBusy) +
                                              "; instead: PCIe rates by NVML");
  EXPECT_FALSE(spool_text(path_, "counter nvml.pcie_tx_kb_per_s").empty());
}

TEST_F(SamplerTest, AWayThatDoesNotOpenIsToldWithItsReason) {
  SampledGpu& gpu = gpus_.emplace_back();
  gpu.device = FakeSource::gpu();
  gpu.ways.push_back({"PM sampling", [](SourceRefusal& refusal) -> std::unique_ptr<CounterSource> {
                        refusal = {"unknown chip", trace::LossReason::kUnsupported};
                        return nullptr;
                      }});
  gpu.ways.push_back(by_nvml<NvmlSource>("PCIe rates by NVML"));
  EXPECT_EQ(run(1), 1);
  EXPECT_EQ(spool_text(path_, "loss"),
            std::vector<std::string>{
                "loss counter -1 GPU 2: no PM sampling: unknown chip; instead: PCIe rates by NVML"});
}

TEST_F(SamplerTest, AGpuWithoutAnyWayIsToldAndTheOthersGoOn) {
  nvml_.gpus.clear();
  add().fail_start = kBusy;
  gpus_[0].ways.push_back(by_nvml<NvmlSource>("PCIe rates by NVML"));
  add();
  EXPECT_EQ(run(2), 1);
  EXPECT_EQ(spool_text(path_, "loss"),
            std::vector<std::string>{"loss counter -1 GPU 2: no PM sampling: " + std::string(kBusy) +
                                     "; no PCIe rates by NVML: NVML does not know it"});
  EXPECT_FALSE(spool_text(path_, "counter").empty());
}

TEST_F(SamplerTest, AnNvmlWithoutRatesIsNoWay) {
  nvml_.received = -1;
  add().fail_start = kBusy;
  gpus_[0].ways.push_back(by_nvml<NvmlSource>("PCIe rates by NVML"));
  EXPECT_EQ(run(1), 0);
  ASSERT_EQ(spool_text(path_, "loss").size(), 1u);
  EXPECT_NE(spool_text(path_, "loss")[0].find("NVML does not tell the PCIe throughput"), std::string::npos);
}

TEST_F(SamplerTest, NvlinkIsCountedBesideASourceThatDoesNotHaveIt) {
  nvml_.nvlink_step = 1 << 20;
  add().lacks = "nvlrx__bytes.sum (not offered here)";
  gpus_[0].counter = "nvlrx__bytes.sum";
  gpus_[0].beside = by_nvml<NvlinkSource>("NVLink bytes by NVML");
  EXPECT_EQ(run(3), 1) << "one GPU, however many sources";
  EXPECT_EQ(spool_text(path_, "loss"),
            std::vector<std::string>{"loss counter -1 GPU 2: not sampled are nvlrx__bytes.sum (not offered "
                                     "here); beside it: NVLink bytes by NVML"});
  EXPECT_FALSE(spool_text(path_, "counter pcie__read_bytes.sum").empty());
  const auto received = spool_text(path_, "counter nvml.nvlink_rx_bytes.sum");
  const auto sent = spool_text(path_, "counter nvml.nvlink_tx_bytes.sum");
  ASSERT_FALSE(received.empty());
  EXPECT_TRUE(received[0].ends_with(" 1048576")) << received[0];
  ASSERT_FALSE(sent.empty());
  EXPECT_TRUE(sent[0].ends_with(" 2097152")) << sent[0];
  EXPECT_EQ(spool_text(path_, "device").size(), 1u);
}

TEST_F(SamplerTest, WhereTheSourceHasItNothingWorksBesideIt) {
  add();
  gpus_[0].counter = "pcie__read_bytes.sum";
  gpus_[0].beside = by_nvml<NvlinkSource>("NVLink bytes by NVML");
  run(2);
  EXPECT_TRUE(spool_text(path_, "counter nvml").empty());
  EXPECT_TRUE(spool_text(path_, "loss").empty());
}

TEST_F(SamplerTest, WithoutNvlinksThatIsToldAndTheRestIsSampled) {
  nvml_.nvlink.error = "NVML answered for its NVLink counters: Not Supported";
  add();
  gpus_[0].counter = "nvlrx__bytes.sum";
  gpus_[0].beside = by_nvml<NvlinkSource>("NVLink bytes by NVML");
  EXPECT_EQ(run(2), 1);
  EXPECT_EQ(spool_text(path_, "loss"),
            std::vector<std::string>{"loss counter -1 GPU 2: no NVLink bytes by NVML: NVML answered for its "
                                     "NVLink counters: Not Supported"});
  EXPECT_FALSE(spool_text(path_, "counter pcie__read_bytes.sum").empty());
}

TEST(NvlinkSourceTest, CountersThatWereSetBackAreNoTraffic) {
  FakeNvml nvml;
  NvlinkSource source(nvml, nvml.gpus[0], FakeSource::gpu());
  nvml.nvlink.received_bytes = 5000;
  ASSERT_EQ(source.start(), "");
  std::vector<CounterSample> samples;
  bool overflow = false;
  nvml.nvlink.received_bytes = 10;
  EXPECT_EQ(source.read(samples, overflow), "");
  EXPECT_TRUE(samples.empty());
  nvml.nvlink.received_bytes = 74;
  EXPECT_EQ(source.read(samples, overflow), "");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].values, (std::vector<double>{64, 0}));
  EXPECT_GE(samples[0].end_ns, samples[0].start_ns);
}

TEST_F(SamplerTest, WithoutAnyGpuThatSamplesItIsOver) {
  add().fail_start = "no";
  EXPECT_EQ(run(1), 0);
}

TEST_F(SamplerTest, AGpuThatStopsAnsweringIsToldOnce) {
  add().fail_read = "cuptiPmSamplingDecodeData answered CUPTI_ERROR_UNKNOWN (999)";
  run(4);
  EXPECT_EQ(spool_text(path_, "loss").size(), 1u);
}

TEST_F(SamplerTest, AnOverflowIsToldOnceAndSamplingStartsAfresh) {
  int usual = 0, starts = 0;
  add().starts = &usual;
  FakeSource& source = add();
  source.overflow_at_read = 5;  // after the four of the alignment
  source.starts = &starts;
  run(4);
  EXPECT_EQ(spool_text(path_, "loss").size(), 1u);
  EXPECT_EQ(starts, usual + 1);
}

TEST_F(SamplerTest, ASourceOnTheHostsClockIsNotAligned) {
  add().host_clock = true;
  run(3);
  EXPECT_TRUE(spool_text(path_, "counter tferry.clock_error_ns").empty());
  EXPECT_FALSE(spool_text(path_, "counter pcie__read_bytes.sum").empty());
}

/// The program itself.
class SamplerProgramTest : public ::testing::Test {
 protected:
  static int exit_code(const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  trace::TestDirectory directory_;
};

TEST_F(SamplerProgramTest, WithoutADriverItSaysSoAndEndsWithThree) {
  const std::string log = directory_ / "log";
  EXPECT_EQ(exit_code("TFERRY_DRIVER=libno-such-driver.so " TFERRY_SAMPLER " --run-dir " + directory_.path() +
                      " </dev/null 2>" + log),
            3);
  EXPECT_EQ(
      trace::slurp(log),
      "tferry: sampler: nothing to sample: there is no CUDA driver: libno-such-driver.so was not found. "
      "Install the NVIDIA driver, or profile without counters\n");
}

TEST_F(SamplerProgramTest, AWrongOptionIsAUsageError) {
  EXPECT_EQ(exit_code(TFERRY_SAMPLER " --run-dir /tmp --interval-us 5 </dev/null 2>/dev/null"), 2);
  EXPECT_EQ(exit_code(TFERRY_SAMPLER " --help >/dev/null"), 0);
}

}  // namespace
}  // namespace tferry::collector
