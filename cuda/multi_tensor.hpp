#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tferry::cuda {

/// Where PyTorch's multi-tensor kernels (foreach optimizers, ATen/native/cuda/MultiTensorApply.cuh) keep
/// what: their first parameter is a struct with room for dozens of tensors, `depth` addresses each, of which
/// a launch uses the first few. The rest of the addresses is what earlier launches left, and the tables
/// behind them hold pairs of chunk numbers that look like addresses (n + 1 << 32 | n). Taken for names they
/// bind a quarter of a model to every launch of an optimizer (on an H200, 1,427 ms a step under a plan for
/// 720). The tables say which tensor each block works on, and so which are used.
struct MultiTensorLayout {
  std::size_t depth = 0;     ///< addresses of each tensor
  std::size_t capacity = 0;  ///< tensors
  bool steps = false;        ///< fused optimizers: one address more of each, after the element counts
  std::size_t block_table =
      0;  ///< offset in bytes: tensor of each block, one byte; then its chunk, four bytes
};

/// The layout of a kernel of that mangled name with a first parameter of so many bytes. Nothing for any other
/// kernel, and for a PyTorch whose struct has another size than its name tells.
std::optional<MultiTensorLayout> multi_tensor_layout(std::string_view name, std::size_t bytes);

/// How many tensors, from the first one on, the struct at `argument` holds for a launch of so many blocks.
/// Nothing where the tables are not exactly as PyTorch fills them (each tensor's chunks one after the other,
/// all within its elements): then every word of the struct counts. Reads, at most, the layout's bytes.
std::optional<std::size_t> tensors_used(const MultiTensorLayout& layout, const void* argument,
                                        unsigned blocks);

/// Whether word `index` of the struct is an address of one of the first `used` tensors.
inline bool is_used_address(const MultiTensorLayout& layout, std::size_t index, std::size_t used) {
  const std::size_t array = index / layout.capacity;
  const std::size_t steps = (layout.depth + 1) * layout.capacity;
  if (layout.steps && index >= steps) return index - steps < used;
  return array < layout.depth && index % layout.capacity < used;
}

}  // namespace tferry::cuda
