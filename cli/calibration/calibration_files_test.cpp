#include "cli/calibration/calibration_files.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

Environment environment(std::vector<std::string> entries) {
  std::vector<char*> pointers;
  for (std::string& entry : entries) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return Environment(pointers.data());
}

trace::Calibration calibration(const char* created, std::vector<std::string> uuids) {
  trace::Calibration calibration;
  calibration.created = created;
  calibration.host = "node.7/x";
  for (const std::string& uuid : uuids) {
    calibration.gpus.push_back({.ordinal = static_cast<int>(calibration.gpus.size()), .uuid = uuid});
  }
  return calibration;
}

class CalibrationFilesTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_.path() / name) << text;
  }
  testing_support::TemporaryDirectory directory_;
};

TEST(CalibrationFolder, IsTheUsersDataFolder) {
  EXPECT_EQ(calibration_folder(environment({"XDG_DATA_HOME=/d", "HOME=/h"})), "/d/tferry/calibration");
  EXPECT_EQ(calibration_folder(environment({"HOME=/h"})), "/h/.local/share/tferry/calibration");
  EXPECT_EQ(calibration_folder(environment({"HOME=relative"})), "");
}

TEST(CalibrationName, NamesHostAndGpusWhateverTheirOrder) {
  const std::string name = calibration_name(calibration("", {"GPU-1", "GPU-2"}));
  EXPECT_TRUE(name.starts_with("node_7_x-")) << name;
  EXPECT_EQ(name, calibration_name(calibration("", {"GPU-2", "GPU-1"})));
  EXPECT_NE(name, calibration_name(calibration("", {"GPU-1"})));
}

TEST_F(CalibrationFilesTest, TheNewestThatMeasuredTheGpuIsTaken) {
  write("a.json", to_json(calibration("2026-01-01T00:00:00Z", {"GPU-1"})));
  write("b.json", to_json(calibration("2026-03-01T00:00:00Z", {"GPU-1", "GPU-2"})));
  write("c.json", to_json(calibration("2026-04-01T00:00:00Z", {"GPU-3"})));
  write("broken.json", "{");
  EXPECT_EQ(find_calibration(directory_.path(), "GPU-1")->created, "2026-03-01T00:00:00Z");
  EXPECT_FALSE(find_calibration(directory_.path(), "GPU-9"));
  EXPECT_FALSE(find_calibration(directory_.path() / "missing", "GPU-1"));
}

TEST_F(CalibrationFilesTest, AFileThatIsNoneIsRefusedByName) {
  write("x.json", "[]");
  for (const char* name : {"x.json", "absent.json"}) {
    try {
      read_calibration(directory_.path() / name);
      FAIL() << name;
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(name), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tferry::cli
