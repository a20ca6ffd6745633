#include "samples/layers/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tferry::samples {
namespace {

int parse(std::vector<std::string> words, LayersOptions& options) {
  words.insert(words.begin(), "layers");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse_layers_options(static_cast<int>(arguments.size()), arguments.data(), "a test", options);
}

TEST(LayersOptions, AreTakenAsGiven) {
  LayersOptions options;
  EXPECT_EQ(parse({"--buffers", "64", "--mib", "256", "--seed", "7", "--stream-ordered"}, options), -1);
  EXPECT_EQ(options.layers(), 31);
  EXPECT_EQ(options.count(), 256U * 1024 * 1024 / 8);
  EXPECT_EQ(options.seed, 7U);
  EXPECT_TRUE(options.stream_ordered);
}

TEST(LayersOptions, NoMoreWeightsAreHiddenThanThereAre) {
  LayersOptions options;
  EXPECT_EQ(parse({"--buffers", "4", "--hidden", "64"}, options), -1);
  EXPECT_EQ(options.hidden, 1);
}

TEST(LayersOptions, WrongOnesEndWithTwoAndHelpWithZero) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"--buffers", "3"},
                                                                 {"--mib", "0"},
                                                                 {"--mib", "x"},
                                                                 {"--streams", "17"},
                                                                 {"--nothing"},
                                                                 {"--iterations"}}) {
    LayersOptions options;
    EXPECT_EQ(parse(words, options), 2) << words.front();
  }
  LayersOptions options;
  EXPECT_EQ(parse({"--help"}, options), 0);
}

}  // namespace
}  // namespace tferry::samples
