#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstdint>

namespace tferry::analyzer {

/// A decoder-only transformer trained with AdamW.
struct TransformerShape {
  std::int64_t layers = 12;
  std::int64_t width = 768;
  std::int64_t batch = 8;
  std::int64_t context = 1024;
  std::int64_t vocabulary = 50257;
  bool bf16 = false;  ///< autocast: products in bf16, weights, normalisation and loss in fp32
};

/// Speeds of a GPU on such a job: products at a rate, everything else at the speed of its memory. The
/// defaults are fitted to the step times of GPT-2 124 M on one H200 (178 ms in fp32, 61 ms in bf16); wide
/// layers do better.
struct GpuRates {
  double fp32_tflops = 42.5;
  double bf16_tflops = 147;
  double memory_gbps = 3200;
  double launch_ns = 4000;  ///< least time from one operation to the next
};

/// The modelled workload of one training step: layer shapes from first principles (what each layer reads,
/// writes and keeps for its backward pass, as PyTorch does), times from arithmetic and bytes. It is no
/// recording: source says "synthetic". GPT-2 124 M is the default shape.
Workload transformer_training(const TransformerShape& shape, const GpuRates& gpu = {});

}  // namespace tferry::analyzer
