// How long a small copy to the host in the program's stream waits when all work is queued ahead, as a
// training step queues it: a kernel, from whose end on the evictions may run, another kernel, and behind it
// the copy of a loss. `interleave` asks for the copy while evictions run, when nothing stands before it; this
// is not the same.
#include "benchmarks/experiments/copy_pump.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/kernels.hpp"

#include <string>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

enum class Way {
  kEngine,   // by the copy engine, evictions know nothing of it
  kGuarded,  // evictions wait before each piece as long as a word says that the program copies
  kKernel    // by a kernel that writes to host memory
};

constexpr struct {
  Way way;
  unsigned streams;  // of evictions, in turn
  const char* name;
} kWays[] = {{Way::kEngine, 1, "engine_one_stream"},
             {Way::kEngine, 2, "engine_two_streams"},
             {Way::kGuarded, 1, "guarded_one_stream"},
             {Way::kGuarded, 2, "guarded_two_streams"},
             {Way::kKernel, 2, "kernel_two_streams"}};

class Step {
 public:
  Step(Way way, unsigned streams, std::size_t pieces)
      : way_(way), streams_(streams), pieces_(pieces), events_(pieces) {
    TFERRY_CU(cuMemHostAlloc(&host_, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    TFERRY_CU(cuMemsetD32(word_.get(), 0, 1));
  }
  ~Step() { cuMemFreeHost(host_); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  void run() {
    launch_burn(sink_.get(), 8, 3'000'000, program_.get());  // some ms, in which all that follows is queued
    gate_.record(program_);
    evict();
    launch_burn(sink_.get(), 8, 300'000, program_.get());
    before_.record(program_);
    copy();
    after_.record(program_);
    program_.synchronize();
    for (unsigned i = 0; i < streams_; ++i) out_[i].synchronize();
  }
  double waited_us() const { return elapsed_ms(before_, after_) * 1e3; }
  double gbps() const { return static_cast<double>(pieces_ * kPiece) / elapsed_ms(begin_, end_) / 1e6; }

  static constexpr std::size_t kPiece = 16 * kMiB;

 private:
  void evict() {
    for (unsigned i = 0; i < streams_; ++i) TFERRY_CU(cuStreamWaitEvent(out_[i].get(), gate_.get(), 0));
    begin_.record(out_[0]);
    for (std::size_t n = 0; n < pieces_; ++n) {
      const Stream& stream = out_[n % streams_];
      if (n > 0 && streams_ > 1) TFERRY_CU(cuStreamWaitEvent(stream.get(), events_[n - 1].get(), 0));
      if (way_ == Way::kGuarded)
        TFERRY_CU(cuStreamWaitValue32(stream.get(), word_.get(), 0, CU_STREAM_WAIT_VALUE_EQ));
      const std::size_t at = n * kPiece % PumpBuffers::kBytes;
      TFERRY_CU(cuMemcpyDtoHAsync(buffers_.host() + at, buffers_.device() + at, kPiece, stream.get()));
      events_[n].record(stream);
    }
    end_.record(out_[(pieces_ - 1) % streams_]);
  }

  void copy() {
    const auto mapped = reinterpret_cast<CUdeviceptr>(host_);  // unified addresses
    if (way_ == Way::kKernel) return launch_copy(mapped, sink_.get(), 1, program_.get());
    if (way_ == Way::kGuarded) TFERRY_CU(cuStreamWriteValue32(program_.get(), word_.get(), 1, 0));
    TFERRY_CU(cuMemcpyDtoHAsync(host_, sink_.get(), 4, program_.get()));
    if (way_ == Way::kGuarded) TFERRY_CU(cuStreamWriteValue32(program_.get(), word_.get(), 0, 0));
  }

  Way way_;
  unsigned streams_;
  std::size_t pieces_;
  PumpBuffers buffers_;
  DeviceBuffer sink_{4}, word_{4};
  void* host_ = nullptr;
  Stream program_, out_[2];
  Event gate_, before_{true}, after_{true}, begin_{true}, end_{true};
  std::vector<Event> events_;
};

}  // namespace

void run_small_copies(Report& report) {
  for (const auto& [way, streams, name] : kWays) {
    report.section(name, [&, way = way, streams = streams](json& found) {
      Step step(way, streams, kGiB / Step::kPiece * 4);
      std::vector<double> waits, rates;
      for (int round = 0; round < 11; ++round) {
        step.run();
        if (round == 0) continue;
        waits.push_back(step.waited_us());
        rates.push_back(step.gbps());
      }
      found["small_d2h_us_behind_4_GiB"] = summarize(waits);
      found["d2h_gbps"] = summarize(rates);
    });
  }
}

}  // namespace tferry::experiments
