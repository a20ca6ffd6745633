#include "trace/copy_route.hpp"

#include <gtest/gtest.h>

namespace tferry::trace {
namespace {

using Way = CopyRoute::Way;

TEST(CopyRoute, IsAWayAndANeighbour) {
  EXPECT_EQ(parse_copy_route("direct", 0)->way, Way::kDirect);
  EXPECT_EQ(parse_copy_route("auto", 0)->way, Way::kDirect);
  EXPECT_EQ(parse_copy_route("neighbour", 3)->way, Way::kNeighbour);
  EXPECT_EQ(parse_copy_route("neighbour", 3)->via, -1);
  EXPECT_EQ(parse_copy_route("both:2", 0)->way, Way::kBoth);
  EXPECT_EQ(parse_copy_route("both:2", 0)->via, 2);
}

TEST(CopyRoute, OfSeveralEachLocalRankHasItsOwn) {
  const char* routes = "direct,neighbour:0,both";
  EXPECT_EQ(parse_copy_route(routes, 0)->way, Way::kDirect);
  EXPECT_EQ(parse_copy_route(routes, 1)->via, 0);
  EXPECT_EQ(parse_copy_route(routes, 2)->way, Way::kBoth);
  EXPECT_EQ(parse_copy_route(routes, 3)->way, Way::kDirect) << "and round again";
  EXPECT_EQ(parse_copy_route(routes, -1)->way, Way::kDirect) << "no rank is known";
}

TEST(CopyRoute, AWayIsKnownByItsWord) {
  for (const Way way : {Way::kDirect, Way::kNeighbour, Way::kBoth}) {
    EXPECT_EQ(route_named(route_name(way)), way);
    EXPECT_EQ(parse_copy_route(route_name(way), 0)->way, way);
  }
  EXPECT_FALSE(route_named("auto"));
}

TEST(CopyRoute, OtherTextIsNone) {
  for (const char* text : {"", "fast", "direct:1", "neighbour:", "both:x", "both:-1", "both:1x", "both:99999",
                           "direct,", ",direct", "neighbour:0 "})
    EXPECT_FALSE(parse_copy_route(text, 0)) << text;
}

}  // namespace
}  // namespace tferry::trace
