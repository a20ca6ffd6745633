// RTLD_NEXT means "after the library that asks". A hooked dlsym that calls the real one instead of jumping to
// it is taken for the asker, and the first library then finds itself, for ever.
#include <gtest/gtest.h>

extern "C" int tferry_probe();

namespace {

TEST(RtldNext, HamiCore315And326_TheAskerStaysTheAsker) { EXPECT_EQ(11, tferry_probe()); }

}  // namespace
