// Commands in a folder that their user cannot write to: reading works, writing is refused before any work,
// with what to do.
#include "cli/testing/layers_session.hpp"
#include "cli/testing/program_fixture.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

namespace tferry::cli {
namespace {

using testing_support::contents;
using testing_support::Ended;
using testing_support::LayersSession;
namespace fs = std::filesystem;

class ReadOnlyPlaceTest : public testing_support::ProgramTest {
 protected:
  ReadOnlyPlaceTest() {
    fs::create_directories(place_);
    fs::create_directories(root_ / "open");
    LayersSession{.iterations = 12}.write((place_ / "a.tferry").string());
    before_ = contents(place_ / "a.tferry");
    fs::permissions(root_, fs::perms(0755));
    fs::permissions(root_ / "open", fs::perms::all);
    fs::permissions(root_ / "places", fs::perms::all);
    fs::permissions(place_ / "a.tferry", fs::perms(0444));
    fs::permissions(place_, fs::perms(0555));
  }
  ~ReadOnlyPlaceTest() override { fs::permissions(place_, fs::perms::owner_all); }

  /// As a user to whom permissions mean something.
  Ended as_user(const std::string& line) const {
    const std::string user = ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    return sh("cd read_only; " + user + line);
  }

  fs::path place_ = root_ / "read_only";
  std::string before_;
};

TEST_F(ReadOnlyPlaceTest, SessionsCanBeRead) {
  EXPECT_TRUE(as_user("$T report summary a.tferry").printed("python3 train.py"));
  EXPECT_EQ(as_user("$T query 'SELECT count(*) FROM kernel' a.tferry --format tsv").out,
            "count(*)\tknown_by\n24\tmeasured\n");
}

TEST_F(ReadOnlyPlaceTest, AnAnalysisIsRefusedThereAndWorksElsewhere) {
  const Ended refused = as_user("$T analyze a.tferry --budget 20MiB");
  EXPECT_EQ(refused.exit_code(), 125) << refused.err;
  EXPECT_TRUE(refused.told("the analysis cannot be stored beside a.tferry")) << refused.err;
  EXPECT_TRUE(refused.told("copy it to a place that you can write to, or name another file with -o"))
      << refused.err;
  const Ended elsewhere = as_user("$T analyze a.tferry --budget 20MiB -o ../open/b.tferry");
  EXPECT_EQ(elsewhere.exit_code(), 0) << elsewhere.err;
  EXPECT_TRUE(fs::exists(root_ / "open" / "b.tferry"));
  EXPECT_EQ(contents(place_ / "a.tferry"), before_);
}

TEST_F(ReadOnlyPlaceTest, AProfileIsRefusedBeforeTheJobStarts) {
  for (const std::string where : {"", "-o new.tferry "}) {
    const Ended ended = as_user("$T profile --counters off " + where + "touch ../open/started");
    EXPECT_EQ(ended.exit_code(), 125) << ended.err;
    EXPECT_TRUE(ended.told("cannot be written")) << ended.err;
    EXPECT_FALSE(fs::exists(root_ / "open" / "started"));
  }
}

}  // namespace
}  // namespace tferry::cli
