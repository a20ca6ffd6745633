// Run with the runtime library preloaded: a collective reaches NCCL where a program, as Python does, loads
// PyTorch and NCCL behind it out of sight of all other libraries. RTLD_NEXT alone finds nothing then.
#include <gtest/gtest.h>

#include <array>
#include <dlfcn.h>

namespace {

TEST(PrivateLibrary, ACollectiveReachesTheLibraryBehindTheHook) {
  void* user = dlopen(TFERRY_COLLECTIVE_USER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, user) << dlerror();
  using Reduce = int (*)(const int*, int*, std::size_t);
  const auto reduce = reinterpret_cast<Reduce>(dlsym(user, "tferry_probe_reduce"));
  ASSERT_NE(nullptr, reduce);
  const std::array<int, 3> send = {1, 2, 3};
  std::array<int, 3> receive{};
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(42, reduce(send.data(), receive.data(), send.size()));
    EXPECT_EQ((std::array<int, 3>{2, 4, 6}), receive);
  }
}

TEST(PrivateLibrary, TheHookStandsInFront) {
  Dl_info info{};
  void* found = dlsym(RTLD_DEFAULT, "ncclAllReduce");
  ASSERT_NE(nullptr, found);
  ASSERT_NE(0, dladdr(found, &info));
  EXPECT_NE(std::string::npos, std::string(info.dli_fname).find("libtferry_runtime"));
}

}  // namespace
