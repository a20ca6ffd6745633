#include "cli/byte_size.hpp"

#include "cli/failure.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>

namespace tferry::cli {
namespace {

std::int64_t parse(const std::string& text) { return parse_bytes(text, "--budget"); }

TEST(ByteSize, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse("0"), 0);
  EXPECT_EQ(parse("1024"), 1024);
  EXPECT_EQ(parse("7B"), 7);
  EXPECT_EQ(parse("512MiB"), 512LL << 20);
  EXPECT_EQ(parse("24G"), 24LL << 30);
  EXPECT_EQ(parse("24GB"), 24'000'000'000);
  EXPECT_EQ(parse("1.5KiB"), 1536);
  EXPECT_EQ(parse("9.8GiB"), 10'522'669'875);
  EXPECT_EQ(parse("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(ByteSize, RejectsWhatIsNoSize) {
  for (const char* text : {"",           "GiB",          "-1",           "+1",
                           " 1",         "1 GiB",        "1e9",          "0x10",
                           "1.5",        "1.GiB",        ".5GiB",        "1gib",
                           "1GiBx",      "nan",          "1.0000001GiB", "9223372036854775808",
                           "8388608TiB", "99999999999G", "1,5GiB",       "1GiB,"}) {
    EXPECT_THROW(parse(text), Failure) << text;
  }
}

TEST(ByteSize, ErrorNamesOptionTextAndRemedy) {
  try {
    parse("12 bananas");
    FAIL() << "accepted";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "--budget: \"12 bananas\" is not a size: the unit \" bananas\" is unknown");
    EXPECT_NE(failure.remedy().find("9.8GiB"), std::string::npos);
    EXPECT_EQ(failure.exit_code(), kOwnFailure);
  }
}

TEST(ByteSize, FormatsForPeople) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(150LL << 30), "150 GiB");
  EXPECT_EQ(format_bytes(-(3LL << 20)), "-3.00 MiB");
  EXPECT_EQ(format_bytes_exact(10'522'669'875), "9.80 GiB (10522669875 bytes)");
}

RC_GTEST_PROP(ByteSizeProperty, AnyByteCountSurvivesBeingWritten, (std::int64_t value)) {
  RC_PRE(value >= 0);
  RC_ASSERT(parse(std::to_string(value)) == value);
  RC_ASSERT(parse(std::to_string(value) + "B") == value);
}

RC_GTEST_PROP(ByteSizeProperty, AcceptsOrThrowsFailureAndIsNeverNegative, (const std::string& text)) {
  try {
    RC_ASSERT(parse(text) >= 0);
  } catch (const Failure&) {
  }
}

RC_GTEST_PROP(ByteSizeProperty, DecimalsLieBetweenTheWholeSizes, ()) {
  const auto whole = *rc::gen::inRange<std::int64_t>(0, 1 << 20);
  const auto thousandths = *rc::gen::inRange(0, 1000);
  std::string digits = std::to_string(1000 + thousandths).substr(1);
  const std::int64_t value = parse(std::to_string(whole) + "." + digits + "GiB");
  RC_ASSERT(value >= whole << 30);
  RC_ASSERT(value < (whole + 1) << 30);
}

}  // namespace
}  // namespace tferry::cli
