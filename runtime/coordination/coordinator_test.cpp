#include "runtime/coordination/coordinator.hpp"

#include <gtest/gtest.h>

namespace tferry::runtime {
namespace {

TEST(LinkName, IsWhatTheFileSaysOfTheAddress) {
  const std::string file = "# a switch\n0000:19:00.0 switch\nnonsense\n0000:3B:00.0  other rest\n";
  EXPECT_EQ("switch", Coordinator::link_name("0000:19:00.0", file));
  EXPECT_EQ("switch", Coordinator::link_name("00000000:19:00.0", file));
  EXPECT_EQ("other", Coordinator::link_name("0000:3b:00.0", file));
}

TEST(LinkName, IsTheAddressWhereTheFileSaysNothing) {
  const std::string own = Coordinator::link_name("0000:3B:00.0", "");
  EXPECT_EQ(own, Coordinator::link_name("00000000:3b:00.0", "0000:19:00.0 switch\n"));
  EXPECT_NE(own, Coordinator::link_name("0001:3b:00.0", ""));
  EXPECT_NE(own, Coordinator::link_name("0000:3c:00.0", ""));
  EXPECT_EQ("", Coordinator::link_name("", "x y\n"));
  EXPECT_EQ("GPU", Coordinator::link_name("GPU", "GPU y\n"));
}

}  // namespace
}  // namespace tferry::runtime
