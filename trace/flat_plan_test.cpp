#include "trace/flat_plan.hpp"

#include "trace/test_directory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <functional>

namespace tferry::trace {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
const auto kScale = OperationSignature::launch("scale", {1, 1, 1}, {256, 1, 1});

/// Weights of two chunks stay; activations of three take turns in the chunks of a workspace of two.
FlatPlan small_plan() {
  FlatPlan plan;
  plan.chunk_bytes = 2 * kMiB;
  plan.budget_bytes = 16 * kMiB;
  plan.chunk_count = 6;
  plan.predicted_ns = 1000;
  plan.route = CopyRoute::Way::kBoth;
  plan.name = "small.tferry, plan 1";
  plan.operations = {{kScale, 0, 2}, {OperationSignature::copy(4096), 2, 1}, {kScale, 3, 2}};
  plan.names = {0, 1, 2, 1, 0};
  plan.tensors = {
      {.bytes = 4 * kMiB, .persistent = 1, .pieces = 2, .first_place = 0},
      {.bytes = 5 * kMiB, .pieces = 3, .first_place = 2},
      {.bytes = 4 * kMiB, .pieces = 2, .first_place = 5},
  };
  plan.places = {0, 1, 2, 3, 4, 3, 4};
  plan.leaves = {{.position = 0, .tensor = 1, .first = 1, .count = 2}};
  plan.returns = {{.position = 2, .tensor = 1, .first = 1, .count = 1},
                  {.position = 2, .tensor = 1, .first = 2, .count = 1}};
  return plan;
}

std::string error_with(const std::function<void(FlatPlan&)>& change) {
  FlatPlan plan = small_plan();
  change(plan);
  return flat_plan_error(plan);
}

bool decodes(const std::vector<std::byte>& file) {
  FlatPlan plan;
  std::string error;
  const bool ok = decode_flat_plan(file, plan, error);
  EXPECT_EQ(ok, error.empty());
  EXPECT_TRUE(ok || plan == FlatPlan{}) << "a refused file left something behind";
  return ok;
}

TEST(FlatPlanFile, ReadsBackWhatWasWritten) {
  const TestDirectory directory;
  const std::vector<std::byte> file = encode_flat_plan(small_plan());
  spew(directory / "plan", {reinterpret_cast<const char*>(file.data()), file.size()});
  FlatPlan plan;
  std::string error;
  ASSERT_TRUE(read_flat_plan((directory / "plan").c_str(), plan, error)) << error;
  EXPECT_EQ(plan, small_plan());
}

TEST(FlatPlanFile, EveryTruncationIsRefused) {
  const std::vector<std::byte> file = encode_flat_plan(small_plan());
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(decodes({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
}

TEST(FlatPlanFile, EveryFlippedBitIsRefused) {
  const std::vector<std::byte> file = encode_flat_plan(small_plan());
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::vector<std::byte> damaged = file;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decodes(damaged)) << "byte " << bit / 8;
  }
}

TEST(FlatPlanFile, AddedBytesAreRefused) {
  std::vector<std::byte> file = encode_flat_plan(small_plan());
  file.push_back(std::byte{0});
  EXPECT_FALSE(decodes(file));
}

RC_GTEST_PROP(FlatPlanFile, DamageInManyPlacesIsRefused, ()) {
  const std::vector<std::byte> file = encode_flat_plan(small_plan());
  std::vector<std::byte> damaged = file;
  const auto hits = *rc::gen::container<std::vector<std::pair<std::size_t, std::uint8_t>>>(
      rc::gen::pair(rc::gen::inRange<std::size_t>(0, file.size()), rc::gen::arbitrary<std::uint8_t>()));
  for (const auto& [at, value] : hits) damaged[at] = std::byte{value};
  damaged.resize(*rc::gen::inRange<std::size_t>(0, file.size() + 1));
  RC_ASSERT(decodes(damaged) == (damaged == file));
}

// A checksum keeps accidents out; what a wrong writer produces is caught by the checks behind it.
RC_GTEST_PROP(FlatPlanFile, AnyPlanIsCheckedNotTrusted, ()) {
  FlatPlan plan = small_plan();
  const auto number = [] {
    return *rc::gen::weightedOneOf<std::uint32_t>(
        {{4, rc::gen::inRange<std::uint32_t>(0, 8)}, {1, rc::gen::arbitrary<std::uint32_t>()}});
  };
  plan.operations[*rc::gen::inRange<std::size_t>(0, 3)] = {number(), number(), number()};
  plan.names[*rc::gen::inRange<std::size_t>(0, 5)] = number();
  plan.places[*rc::gen::inRange<std::size_t>(0, 7)] = number();
  FlatPlan::Tensor& tensor = plan.tensors[*rc::gen::inRange<std::size_t>(0, 3)];
  tensor = {.bytes = number(),
            .ordinal = number(),
            .persistent = number(),
            .pieces = number(),
            .first_place = number(),
            .addresses = number()};
  plan.leaves.push_back({number(), number(), number(), number()});
  plan.returns.push_back({number(), number(), number(), number()});
  RC_ASSERT(decodes(encode_flat_plan(plan)) == flat_plan_error(plan).empty());
}

TEST(FlatPlanFile, SaysWhatIsWrong) {
  const TestDirectory directory;
  FlatPlan plan;
  std::string error;
  EXPECT_FALSE(read_flat_plan((directory / "none").c_str(), plan, error));
  EXPECT_EQ(error, "cannot open plan " + (directory / "none") + ": No such file or directory");
  EXPECT_FALSE(read_flat_plan(directory.path().c_str(), plan, error));
  EXPECT_EQ(error, "cannot follow plan " + directory.path() + ": it is not a file");
  spew(directory / "text", std::string(500, 'x'));
  EXPECT_FALSE(read_flat_plan((directory / "text").c_str(), plan, error));
  EXPECT_EQ(error, "cannot follow plan " + (directory / "text") + ": it is no plan file");

  std::vector<std::byte> newer = encode_flat_plan(small_plan());
  newer[8] = std::byte{9};
  EXPECT_FALSE(decode_flat_plan(newer, plan, error));
  EXPECT_EQ(error, "its version is 9, this library follows version 2");
}

TEST(FlatPlanCheck, AcceptsTheSmallPlan) { EXPECT_EQ(flat_plan_error(small_plan()), ""); }

TEST(FlatPlanCheck, RefusesWrongSizes) {
  EXPECT_EQ(error_with([](FlatPlan& p) { p.route = static_cast<CopyRoute::Way>(3); }),
            "its route is not known");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.chunk_bytes = 3 * kMiB; }), "the chunk size is no power of two");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.budget_bytes = 11 * kMiB; }), "the chunks exceed the budget");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.operations.clear(); }), "there are no operations");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.tensors[1].pieces = 2; }),
            "tensor 1 has pieces that do not cover its bytes");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.tensors[1].bytes = -1; }), "tensor 1 has no bytes");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.tensors[0].addresses = 2; }),
            "tensor 0 has a wrong number of addresses");
}

TEST(FlatPlanCheck, RefusesWhatPointsNowhere) {
  EXPECT_EQ(error_with([](FlatPlan& p) { p.operations[2].name_count = 3; }),
            "operation 2 names more than there is");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.names[0] = 3; }), "operation 0 names an unknown tensor");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.names[1] = 0; }), "operation 0 names a tensor twice");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.places[6] = 6; }), "tensor 2 lies in an unknown chunk");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.places[6] = 3; }), "tensor 2 lies in a chunk twice");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.tensors[2].first_place = 6; }),
            "tensor 2 has places beyond the list");
  EXPECT_EQ(error_with([](FlatPlan& p) {
              p.tensors[2].first_place = 3;
              p.places.pop_back();
            }),
            "tensor 2 shares its places with another");
  EXPECT_EQ(error_with([](FlatPlan& p) {
              p.operations[2].first_name = 2;
              p.operations[1].name_count = 3;
            }),
            "operation 2 shares its names with another");
}

TEST(FlatPlanCheck, RefusesTwoTensorsForOneAllocation) {
  EXPECT_EQ(error_with([](FlatPlan& p) {
              p.tensors[1] = p.tensors[2];
              p.leaves = p.returns = {};
            }),
            "two tensors are the same allocation of the iteration");
}

TEST(FlatPlanCheck, RefusesStepsThatDoNotAddUp) {
  EXPECT_EQ(error_with([](FlatPlan& p) { p.leaves[0].position = 3; }),
            "leave 0 is beyond the last operation");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.returns[0].position = 3; }),
            "return 0 is beyond the last operation");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.returns[1].position = 1; }), "return 1 is out of order");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.leaves[0].count = 3; }),
            "leave 0 moves pieces that its tensor does not have");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.tensors[1].persistent = 1, p.returns.pop_back(); }),
            "tensor 1 leaves and does not return");
  EXPECT_EQ(error_with([](FlatPlan& p) { p.returns.pop_back(); }), "") << "freed while it is away";
  EXPECT_EQ(error_with([](FlatPlan& p) { p.leaves[0].count = 1; }), "tensor 1 returns and never left");
  const auto leaves_again = [](FlatPlan& p) {
    p.leaves.push_back({.position = 1, .tensor = 1, .first = 1, .count = 1});
  };
  EXPECT_EQ(error_with([&](FlatPlan& p) { p.tensors[1].persistent = 1, leaves_again(p); }),
            "tensor 1 leaves twice");
  EXPECT_EQ(error_with(leaves_again), "") << "freed and allocated in between";
}

TEST(FlatPlanCheck, APieceMayComeBackForTheVeryOperationAfterWhichItLeavesAgain) {
  EXPECT_EQ(error_with([](FlatPlan& p) {
              p.leaves = {{.position = 0, .tensor = 1, .count = 1}, {.position = 2, .tensor = 1, .count = 1}};
              p.returns = {{.position = 0, .tensor = 1, .count = 1},
                           {.position = 2, .tensor = 1, .count = 1}};
            }),
            "");
}

TEST(FlatPlanCheck, TensorsWithAddressesInRotationStay) {
  const auto rotate = [](FlatPlan& p) {
    p.tensors[2] = {.bytes = 2 * kMiB, .pieces = 1, .first_place = 5, .addresses = 2};
  };
  EXPECT_EQ(error_with(rotate), "");
  EXPECT_EQ(error_with([&](FlatPlan& p) {
              rotate(p);
              p.places[6] = p.places[5];
            }),
            "tensor 2 lies in a chunk twice");
  EXPECT_EQ(error_with([&](FlatPlan& p) {
              rotate(p);
              p.leaves.push_back({.position = 1, .tensor = 2, .count = 1});
            }),
            "leave 1 moves a tensor with addresses in rotation");
}

TEST(OperationSignature, TellsApartWhatDiffers) {
  using S = OperationSignature;
  EXPECT_EQ(S::launch("scale", {1, 1, 1}, {256, 1, 1}),
            S::launch(S::name_hash("scale"), {1, 1, 1}, {256, 1, 1}));
  EXPECT_NE(S::launch("scale", {1, 1, 1}, {256, 1, 1}), S::launch("scale", {256, 1, 1}, {1, 1, 1}));
  EXPECT_NE(S::launch("scale", {1, 1, 1}, {256, 1, 1}), S::launch("scalf", {1, 1, 1}, {256, 1, 1}));
  EXPECT_NE(S::copy(4096), S::copy(4097));
  EXPECT_NE(S::copy(4096), S::memset(4096));
  EXPECT_NE(S::graph(), 0u);
}

// Files from another build must mean the same: FNV-1a's published value for "foobar".
TEST(OperationSignature, IsTheSameInEveryBuild) {
  EXPECT_EQ(OperationSignature::name_hash("foobar"), 0x85944171f73967e8u);
}

}  // namespace
}  // namespace tferry::trace
