#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/kernels.hpp"
#include "scan_ptx.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

constexpr std::size_t kRange = 16 * kTiB;
constexpr std::size_t kBitmapBytes = kRange / (2 * kMiB) / 8;

// The scan kernel as the driver compiles it from PTX text.
class PtxScan {
 public:
  explicit PtxScan(json& found) {
    found["module_load_ms"] = time_us([&] { TFERRY_CU(cuModuleLoadData(&module_, kScanPtx)); }) / 1e3;
    found["get_function_us"] =
        time_us([&] { TFERRY_CU(cuModuleGetFunction(&function_, module_, "tferry_scan")); });
  }
  ~PtxScan() { cuModuleUnload(module_); }
  PtxScan(const PtxScan&) = delete;
  PtxScan& operator=(const PtxScan&) = delete;

  void launch(CUdeviceptr memory, std::size_t bytes, std::uint64_t base, std::uint64_t range,
              CUdeviceptr bitmap, CUdeviceptr hits, CUstream stream) const {
    std::uint64_t count = bytes / 16;
    void* parameters[] = {&memory, &count, &base, &range, &bitmap, &hits};
    TFERRY_CU(
        cuLaunchKernel(function_, kScanBlocks, 1, 1, kScanThreads, 1, 1, 0, stream, parameters, nullptr));
  }

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

struct Target {
  DeviceBuffer bitmap{kBitmapBytes};
  DeviceBuffer hits{8};
  Stream stream;

  void clear() const {
    TFERRY_CU(cuMemsetD8Async(bitmap.get(), 0, kBitmapBytes, stream.get()));
    TFERRY_CU(cuMemsetD8Async(hits.get(), 0, 8, stream.get()));
  }
  std::uint64_t read_hits() const {
    std::uint64_t value = 0;
    stream.synchronize();
    TFERRY_CU(cuMemcpyDtoH(&value, hits.get(), 8));
    return value;
  }
  std::uint64_t read_chunks() const {
    std::vector<std::uint64_t> words(kBitmapBytes / 8);
    TFERRY_CU(cuMemcpyDtoH(words.data(), bitmap.get(), kBitmapBytes));
    std::uint64_t chunks = 0;
    for (const auto word : words) chunks += static_cast<std::uint64_t>(__builtin_popcountll(word));
    return chunks;
  }
};

template <class Launch>
json timed_scan(const Target& target, const std::vector<std::unique_ptr<DeviceBuffer>>& memory,
                Launch launch) {
  std::vector<double> times;
  std::size_t bytes = 0;
  for (int round = 0; round < 4; ++round) {
    target.clear();
    const Event begin(true);
    const Event end(true);
    bytes = 0;
    begin.record(target.stream);
    for (const auto& buffer : memory) {
      launch(buffer->get(), buffer->bytes());
      bytes += buffer->bytes();
    }
    end.record(target.stream);
    end.synchronize();
    if (round > 0) times.push_back(elapsed_ms(begin, end));
  }
  json found = {{"ms", summarize(times)}, {"bytes", bytes}};
  found["gbps"] = static_cast<double>(bytes) / found["ms"]["p50"].get<double>() / 1e6;
  found["hits"] = target.read_hits();
  found["chunks_hit"] = target.read_chunks();
  return found;
}

// Both kernels over `memory`, which holds one address within the range every `period` words (0: none).
void speed(json& found, const std::vector<std::unique_ptr<DeviceBuffer>>& memory, std::uint64_t base) {
  const Target target;
  json jit;
  const PtxScan ptx(jit);
  found["ptx"] = jit;
  for (const std::uint64_t period : {std::uint64_t{0}, std::uint64_t{1000000}, std::uint64_t{512}}) {
    std::uint64_t planted = 0;
    for (const auto& buffer : memory) {
      launch_fill(buffer->get(), buffer->bytes(), {Fill::kZeroWithPointers, base, kRange, period},
                  target.stream.get());
      if (period) planted += (buffer->bytes() / 8 + period - 1) / period;
    }
    target.stream.synchronize();
    json& entry = found["an_address_every_" + std::to_string(period) + "_words"];
    entry["planted"] = planted;
    entry["nvcc"] = timed_scan(target, memory, [&](CUdeviceptr at, std::size_t bytes) {
      launch_scan(at, bytes, base, kRange, target.bitmap.get(), target.hits.get(), target.stream.get());
    });
    entry["embedded_ptx"] = timed_scan(target, memory, [&](CUdeviceptr at, std::size_t bytes) {
      ptx.launch(at, bytes, base, kRange, target.bitmap.get(), target.hits.get(), target.stream.get());
    });
    entry["right"] = entry["nvcc"]["hits"] == planted && entry["embedded_ptx"]["hits"] == planted;
  }
}

void false_hits(json& found, std::uint64_t base) {
  const Target target;
  const DeviceBuffer memory(kGiB);
  const std::pair<const char*, Fill> contents[] = {
      {"float32_normal", Fill::kFloatNormal}, {"float32_normal_rectified", Fill::kFloatNormalRectified},
      {"bf16_normal", Fill::kBfloatNormal},   {"int64_token_ids", Fill::kTokenIds},
      {"int32_token_ids", Fill::kTokenIds32}, {"random_bytes", Fill::kRandomBytes}};
  for (const auto& [name, fill] : contents) {
    launch_fill(memory.get(), memory.bytes(), {fill, 0, 1, 0}, target.stream.get());
    for (const auto& [label, range] :
         {std::pair{"range_256_GiB", 256 * kGiB}, std::pair{"range_16_TiB", kRange}}) {
      target.clear();
      launch_scan(memory.get(), memory.bytes(), base, range, target.bitmap.get(), target.hits.get(),
                  target.stream.get());
      found[name][label] = {{"hits_per_GiB", target.read_hits()}, {"chunks_hit", target.read_chunks()}};
    }
  }
}

}  // namespace

void run_scan(Report& report) {
  // Where the driver puts a reservation decides what looks like an address in it.
  std::uint64_t base = std::uint64_t{1} << 45;
  std::unique_ptr<ReservedRange> range;
  report.section("reservation", [&](json& found) {
    range = std::make_unique<ReservedRange>(kRange);
    base = range->base();
    found["base"] = base;
  });
  report.section("ptx_first_load", [](json& found) { const PtxScan scan(found); });
  report.section("false_hits", [&](json& found) {
    found["base"] = base;
    false_hits(found, base);
  });
  std::vector<std::unique_ptr<DeviceBuffer>> memory;
  report.section("16_GiB", [&](json& found) {
    for (int i = 0; i < 4; ++i) memory.push_back(std::make_unique<DeviceBuffer>(4 * kGiB));
    speed(found, memory, base);
  });
  report.section("most_of_the_card", [&](json& found) {
    while (free_device_bytes() > 12 * kGiB) memory.push_back(std::make_unique<DeviceBuffer>(4 * kGiB));
    speed(found, memory, base);
  });
}

}  // namespace tferry::experiments
