#include "cli/console.hpp"

#include "cli/failure.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <unistd.h>

namespace tferry::cli {
namespace {

std::string written(Verbosity verbosity, const std::function<void(const Console&)>& use) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  use(Console(verbosity, ends[1]));
  ::close(ends[1]);
  std::string text;
  std::array<char, 256> buffer;
  for (ssize_t got; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  return text;
}

TEST(Console, EveryLineCarriesThePrefixAndNoColourOutsideATerminal) {
  EXPECT_EQ(written(Verbosity::kNormal, [](const Console& console) { console.notice("one\ntwo"); }),
            "tferry: one\ntferry: two\n");
  EXPECT_EQ(
      written(Verbosity::kNormal, [](const Console& console) { console.failure(Failure("x", "do y")); }),
      "tferry: x\ntferry: what to do: do y\n");
}

TEST(Console, VerbosityHidesNoticesAndDetailsButNeverWarnings) {
  const auto all = [](const Console& console) {
    console.notice("notice");
    console.detail("detail");
    console.warning("warning");
  };
  EXPECT_EQ(written(Verbosity::kQuiet, all), "tferry: warning\n");
  EXPECT_EQ(written(Verbosity::kNormal, all), "tferry: notice\ntferry: warning\n");
  EXPECT_EQ(written(Verbosity::kDetailed, all), "tferry: notice\ntferry: detail\ntferry: warning\n");
}

}  // namespace
}  // namespace tferry::cli
