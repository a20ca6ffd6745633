#include "cli/doctor/probe.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <stdexcept>
#include <unistd.h>

namespace tferry::cli {
namespace {

using std::chrono::milliseconds;

TEST(Probe, BringsTheAnswerBack) {
  const ProbeAnswer answer = run_probe([] { return std::string(100'000, 'x'); }, milliseconds(60'000));
  EXPECT_TRUE(answer.ok);
  EXPECT_EQ(answer.text, std::string(100'000, 'x'));
}

TEST(Probe, ACrashIsAnAnswer) {
  const ProbeAnswer answer = run_probe(
      []() -> std::string {
        ::signal(SIGSEGV, SIG_DFL);
        ::raise(SIGSEGV);
        return "";
      },
      milliseconds(60'000));
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.text, "it died of signal 11");
}

TEST(Probe, AHangEndsAtTheLimit) {
  const ProbeAnswer answer = run_probe(
      []() -> std::string {
        while (true) ::pause();
      },
      milliseconds(50));
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.text, "it took longer than 50 ms");
}

TEST(Probe, AnExceptionIsNoAnswer) {
  const ProbeAnswer answer =
      run_probe([]() -> std::string { throw std::runtime_error("x"); }, milliseconds(60'000));
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.text, "it ended without an answer");
}

}  // namespace
}  // namespace tferry::cli
