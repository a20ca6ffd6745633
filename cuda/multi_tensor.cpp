#include "cuda/multi_tensor.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace tferry::cuda {
namespace {

constexpr std::size_t kBlocks = 320;
constexpr std::int64_t kChunkElements = 65536;
constexpr std::array<std::size_t, 5> kCapacity = {110, 64, 48, 36, 30};
constexpr std::array<std::size_t, 5> kCapacityWithScalars = {96, 64, 48, 36, 30};

template <class T>
T read(const void* argument, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(argument) + offset, sizeof value);
  return value;
}

/// The text behind `head` in the name, if it is there.
std::optional<std::string_view> after(std::string_view name, std::string_view head) {
  const std::size_t at = name.find(head);
  if (at == std::string_view::npos) return std::nullopt;
  return name.substr(at + head.size());
}

/// "Li3E...": 3, from 1 to 5.
std::size_t depth_of(std::string_view text) {
  const bool number = text.size() >= 4 && text.starts_with("Li") && text[3] == 'E';
  return number && text[2] >= '1' && text[2] <= '5' ? static_cast<std::size_t>(text[2] - '0') : 0;
}

}  // namespace

std::optional<MultiTensorLayout> multi_tensor_layout(std::string_view name, std::size_t bytes) {
  if (!after(name, "2at6native") || !after(name, "multi_tensor_apply_kernel")) return std::nullopt;
  MultiTensorLayout layout;
  std::size_t scalar_bytes = 0;
  if (const auto plain = after(name, "18TensorListMetadataI")) {
    layout.depth = depth_of(*plain);
  } else if (const auto fused = after(name, "32FusedOptimizerTensorListMetadataI")) {
    layout.depth = depth_of(*fused);
    layout.steps = true;
  } else if (const auto scalars = after(name, "28TensorListScalarListMetadataI")) {
    if (scalars->empty()) return std::nullopt;
    scalar_bytes = scalars->front() == 'f' ? sizeof(float) : scalars->front() == 'd' ? sizeof(double) : 0;
    if (scalar_bytes == 0) return std::nullopt;
    layout.depth = depth_of(scalars->substr(1));
  }
  if (layout.depth == 0) return std::nullopt;
  const std::size_t with_scalars = kCapacityWithScalars[layout.depth - 1];
  layout.capacity = scalar_bytes != 0 ? with_scalars : kCapacity[layout.depth - 1];
  layout.block_table = layout.capacity * ((layout.depth + 1) * sizeof(void*) + scalar_bytes) +
                       (layout.steps ? with_scalars * sizeof(void*) : 0);
  const std::size_t start = scalar_bytes != 0 ? 0 : sizeof(std::int32_t);  // start_tensor_this_launch
  const std::size_t end = layout.block_table + kBlocks * (1 + sizeof(std::int32_t)) + start;
  if (bytes != (end + 7) / 8 * 8) return std::nullopt;
  return layout;
}

std::optional<std::size_t> tensors_used(const MultiTensorLayout& layout, const void* argument,
                                        unsigned blocks) {
  if (argument == nullptr || blocks == 0 || blocks > kBlocks) return std::nullopt;
  std::size_t tensor = 0;
  std::int64_t chunk = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t next = read<std::uint8_t>(argument, layout.block_table + block);
    const auto its = std::int64_t{
        read<std::int32_t>(argument, layout.block_table + kBlocks + block * sizeof(std::int32_t))};
    // The first tensor of a launch can be the rest of one that did not fit the launch before.
    const bool first = block == 0 && next == 0 && its >= 0;
    const bool goes_on = block > 0 && next == tensor && its == chunk + 1;
    const bool begins = block > 0 && next == tensor + 1 && its == 0;
    if (next >= layout.capacity || !(first || goes_on || begins)) return std::nullopt;
    const auto elements =
        read<std::int64_t>(argument, (layout.depth * layout.capacity + next) * sizeof(std::int64_t));
    if (its * kChunkElements >= elements) return std::nullopt;
    tensor = next;
    chunk = its;
  }
  return tensor + 1;
}

}  // namespace tferry::cuda
