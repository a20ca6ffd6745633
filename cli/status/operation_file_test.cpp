#include "cli/status/operation_file.hpp"

#include "cli/testing/status_builder.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace tferry::cli {
namespace {

using testing_support::OperationLogBuilder;
using testing_support::StatusBuilder;
using testing_support::TemporaryDirectory;

class OperationFileTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "operations.42";
};

OperationLogBuilder numbered(std::size_t capacity, std::uint32_t count) {
  OperationLogBuilder builder(capacity);
  for (std::uint32_t i = 0; i < count; ++i) builder.add({static_cast<std::int64_t>(i), i, 0, 0, 0, 0});
  return builder;
}

RC_GTEST_PROP(OperationFileProperty, TheLastEntriesComeInOrder, ()) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "operations.1";
  const auto capacity = *rc::gen::inRange<std::size_t>(1, 50);
  const auto count = *rc::gen::inRange<std::uint32_t>(0, 200);
  const auto limit = *rc::gen::inRange<std::size_t>(1, 60);
  numbered(capacity, count).write(path);
  const OperationLog log = read_operation_file(path, limit);
  RC_ASSERT(log.defect.empty());
  RC_ASSERT(log.entries.size() == std::min({capacity, limit, std::size_t{count}}));
  RC_ASSERT(log.lost + log.entries.size() == count);
  for (std::size_t i = 0; i < log.entries.size(); ++i) RC_ASSERT(log.entries[i].signature == log.lost + i);
}

TEST_F(OperationFileTest, ClaimsThatTheFileCannotHoldAreRefused) {
  std::vector<char> bytes = numbered(4, 4).bytes();
  bytes.pop_back();
  StatusBuilder::write_bytes(path_, bytes);
  EXPECT_EQ(read_operation_file(path_).defect, "claims 4 entries where 3 fit");
}

TEST_F(OperationFileTest, OtherFilesAreDefectsWithAReason) {
  EXPECT_EQ(read_operation_file(path_).defect, "No such file or directory");
  StatusBuilder::write_bytes(path_, {'x'});
  EXPECT_EQ(read_operation_file(path_).defect, "shorter than its header");
  StatusBuilder::write_bytes(path_, std::vector<char>(100, 'x'));
  EXPECT_EQ(read_operation_file(path_).defect, "not an operation log");
}

TEST_F(OperationFileTest, AnAbsurdCountOfWrittenEntriesIsNoTrouble) {
  std::vector<char> bytes = numbered(4, 4).bytes();
  const std::uint64_t absurd = std::numeric_limits<std::uint64_t>::max();
  std::memcpy(bytes.data() + offsetof(trace::OperationLogHeader, written), &absurd, sizeof absurd);
  StatusBuilder::write_bytes(path_, bytes);
  const OperationLog log = read_operation_file(path_);
  EXPECT_EQ(log.entries.size(), 4u);
  EXPECT_EQ(log.lost, absurd - 4);
}

RC_GTEST_PROP(OperationFileProperty, AnyDamageIsReadOrNamedAndNeverCrashes, ()) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "operations.1";
  std::vector<char> bytes = numbered(8, 20).bytes();
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const auto hits = *rc::gen::container<std::vector<std::pair<std::uint8_t, char>>>(
      rc::gen::pair(rc::gen::arbitrary<std::uint8_t>(), rc::gen::arbitrary<char>()));
  for (const auto& [where, value] : hits) {
    if (!bytes.empty()) bytes[where % bytes.size()] = value;
  }
  StatusBuilder::write_bytes(path, bytes);
  const OperationLog log = read_operation_file(path);
  RC_ASSERT(log.entries.size() <= 8u);
}

}  // namespace
}  // namespace tferry::cli
