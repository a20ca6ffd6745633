#include "collector/sampler/sampler.hpp"

#include "collector/loss.hpp"
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
  std::string fail_start, fail_read;
  int overflow_at_read = 0;
  bool host_clock = false;

  trace::DeviceRecord device() const override {
    trace::DeviceRecord record;
    record.device = 2;
    return record;
  }
  const std::vector<std::string>& counters() const override { return counters_; }
  std::string shortfall() const override { return ""; }
  bool on_host_clock() const override { return host_clock; }
  std::string start() override {
    if (starts != nullptr) ++*starts;
    next_ = gpu_now();
    return fail_start;
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
};

class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() : spool_(trace::SpoolWriter::open(path_, {.block_count = 4})) {}

  FakeSource& add() {
    auto source = std::make_unique<FakeSource>();
    FakeSource& reference = *source;
    sources_.push_back(std::move(source));
    return reference;
  }
  /// Waits by turning, and ends after `reads` reads.
  int run(int reads) {
    const auto spin = [](std::int64_t wait_ns) {
      const std::int64_t due = trace::SpoolWriter::now_ns() + wait_ns;
      while (trace::SpoolWriter::now_ns() < due) {
      }
    };
    Sampler sampler(*spool_, std::move(sources_), {});
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
  std::vector<std::unique_ptr<CounterSource>> sources_;
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

// DCGM#56, #62: counters that another tool owns cost this GPU's counters, and the spool says so.
TEST_F(SamplerTest, Dcgm56AGpuThatRefusesIsToldAndTheOthersGoOn) {
  add().fail_start = "cuptiPmSamplingStart answered CUPTI_ERROR_HARDWARE_BUSY (26)";
  add();
  EXPECT_EQ(run(2), 1);
  EXPECT_EQ(spool_text(path_, "loss"),
            std::vector<std::string>{
                "loss counter -1 GPU 2: cuptiPmSamplingStart answered CUPTI_ERROR_HARDWARE_BUSY (26)"});
  EXPECT_FALSE(spool_text(path_, "counter").empty());
  EXPECT_EQ(explain(CUPTI_ERROR_HARDWARE_BUSY).reason, trace::LossReason::kNotPermitted);
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
