#include "cuda/multi_tensor.hpp"

#include "cuda/function_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tferry::cuda {
namespace {

const std::string kHead =
    "_ZN2at6native57_GLOBAL__N__e658eeb9_24_ForeachUnaryOp_cu25multi_tensor_apply_kernelINS1_";
const std::string kPair =
    kHead + "18TensorListMetadataILi2EEENS1_14UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4SqrtIfEEEEEvT_T0_DpT1_";

/// As PyTorch lays it out for two lists of tensors.
struct Pair {
  std::uint64_t addresses[2][64];
  std::int64_t elements[64];
  std::uint8_t block_to_tensor[320];
  std::int32_t block_to_chunk[320];
  std::int32_t start_tensor;
};

/// What an earlier launch left, and over it tensors of so many chunks each.
Pair argument(const std::vector<int>& chunks) {
  Pair pair;
  std::memset(&pair, 0x5A, sizeof pair);
  std::size_t block = 0;
  for (std::size_t tensor = 0; tensor < chunks.size(); ++tensor) {
    pair.addresses[0][tensor] = 1000 + tensor;
    pair.addresses[1][tensor] = 2000 + tensor;
    pair.elements[tensor] = 65536LL * chunks[tensor] - 1;
    for (int chunk = 0; chunk < chunks[tensor]; ++chunk, ++block) {
      pair.block_to_tensor[block] = static_cast<std::uint8_t>(tensor);
      pair.block_to_chunk[block] = chunk;
    }
  }
  return pair;
}

TEST(MultiTensor, TheNameTellsTheLayoutAndTheSizeConfirmsIt) {
  const auto layout = multi_tensor_layout(kPair, sizeof(Pair));
  ASSERT_TRUE(layout);
  EXPECT_EQ(2U, layout->depth);
  EXPECT_EQ(64U, layout->capacity);
  EXPECT_EQ(offsetof(Pair, block_to_tensor), layout->block_table);
  EXPECT_FALSE(multi_tensor_layout(kPair, sizeof(Pair) + 8)) << "another PyTorch";
  EXPECT_FALSE(
      multi_tensor_layout("_ZN4apex25multi_tensor_apply_kernelI18TensorListMetadataILi2EEvi", sizeof(Pair)));
  EXPECT_FALSE(multi_tensor_layout("", 0));
}

TEST(MultiTensor, AllKindsOfStructAreKnownByTheirSizes) {
  const auto known = [](const std::string& kind, std::size_t bytes) {
    return multi_tensor_layout(kHead + kind, bytes).has_value();
  };
  EXPECT_TRUE(known("18TensorListMetadataILi1EEE", 3368));
  EXPECT_TRUE(known("18TensorListMetadataILi3EEE", 3144));
  EXPECT_TRUE(known("18TensorListMetadataILi4EEE", 3048));
  EXPECT_TRUE(known("18TensorListMetadataILi5EEE", 3048));
  EXPECT_TRUE(known("32FusedOptimizerTensorListMetadataILi4EEE", 3336));
  EXPECT_TRUE(known("28TensorListScalarListMetadataIfLi1EEE", 3520));
  EXPECT_TRUE(known("28TensorListScalarListMetadataIdLi3EEE", 3520));
  EXPECT_FALSE(known("28TensorListScalarListMetadataIN3c107complexIdEELi1EEE", 3528));
  EXPECT_FALSE(known("18TensorListMetadataILi6EEE", 3048));
  EXPECT_FALSE(known("18TensorListMetadataI", 3048));
}

TEST(MultiTensor, CountsTheTensorsOfALaunch) {
  const auto layout = *multi_tensor_layout(kPair, sizeof(Pair));
  const Pair three = argument({2, 1, 4});
  EXPECT_EQ(3U, tensors_used(layout, &three, 7));
  EXPECT_EQ(2U, tensors_used(layout, &three, 3));
  Pair rest = argument({2, 1});
  rest.block_to_chunk[0] = 320;  // the launch before had the first 320 chunks
  rest.block_to_chunk[1] = 321;
  rest.elements[0] = 65536 * 322;
  EXPECT_EQ(2U, tensors_used(layout, &rest, 3));
}

TEST(MultiTensor, WhatIsNotExactlyAsPyTorchFillsItCountsInFull) {
  const auto layout = *multi_tensor_layout(kPair, sizeof(Pair));
  const Pair right = argument({2, 1, 4});
  EXPECT_FALSE(tensors_used(layout, &right, 8)) << "a block without an entry";
  EXPECT_FALSE(tensors_used(layout, &right, 0));
  EXPECT_FALSE(tensors_used(layout, &right, 321));
  Pair wrong = right;
  wrong.block_to_tensor[2] = 2;
  EXPECT_FALSE(tensors_used(layout, &wrong, 7)) << "a tensor is left out";
  wrong = right;
  wrong.block_to_chunk[1] = 2;
  EXPECT_FALSE(tensors_used(layout, &wrong, 7)) << "a chunk is left out";
  wrong = right;
  wrong.elements[2] = 65536;
  EXPECT_FALSE(tensors_used(layout, &wrong, 7)) << "chunks beyond the tensor's elements";
  wrong = right;
  wrong.block_to_tensor[0] = 1;
  EXPECT_FALSE(tensors_used(layout, &wrong, 7)) << "it does not begin with the first";
}

TEST(MultiTensor, LeftOverAddressesAndChunkNumbersAreNoArguments) {
  FunctionInfo info;
  info.parameters = {{0, sizeof(Pair)}, {sizeof(Pair), 8}};
  info.buffer_size = sizeof(Pair) + 8;
  info.multi_tensor = multi_tensor_layout(kPair, sizeof(Pair));
  Pair pair = argument({2, 1});
  pair.addresses[1][40] = 4711;
  std::uint64_t last = 13;
  const auto seen = [&](std::uint64_t blocks, void* const* parameters, void* const* extra) {
    std::vector<std::uint64_t> words;
    for_each_argument_word(info, blocks, parameters, extra,
                           [&](std::uint64_t word) { words.push_back(word); });
    return words;
  };
  const auto has = [](const std::vector<std::uint64_t>& words, std::uint64_t word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  void* parameters[] = {&pair, &last};
  const auto words = seen(3, parameters, nullptr);
  EXPECT_EQ((std::vector<std::uint64_t>{1000, 1001, 2000, 2001, 13}), words);
  EXPECT_TRUE(has(seen(4, parameters, nullptr), 4711)) << "the tables do not fit the grid";

  std::vector<char> packed(info.buffer_size);
  std::memcpy(packed.data(), &pair, sizeof pair);
  std::memcpy(packed.data() + sizeof pair, &last, sizeof last);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed.data(), CU_LAUNCH_PARAM_END};
  EXPECT_EQ(words, seen(3, nullptr, extra));
}

}  // namespace
}  // namespace tferry::cuda
