#include "cli/doctor/bundle.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tferry::cli {
namespace {

TEST(Redaction, TakesOutWhoAndWhere) {
  const Redaction redaction("/home/ada", "ada", "node7");
  EXPECT_EQ(redaction.apply("/home/ada/run by ada on node7.cluster"), "~/run by USER on HOST.cluster");
  EXPECT_EQ(redaction.apply("canada has node71"), "canada has node71");
  EXPECT_EQ(redaction.apply("GPU-12345678-9abc-def0 is GPU 0"), "GPU-1234... is GPU 0");
}

TEST(Redaction, AnEmptyNameChangesNothing) {
  EXPECT_EQ(Redaction("", "", "").apply("a b"), "a b");
  EXPECT_EQ(Redaction("/", "x", "").apply("/usr/x"), "/usr/x");
}

TEST(Bundle, HasSettingsAndNoSecrets) {
  EXPECT_TRUE(belongs_into_bundle("CUDA_VISIBLE_DEVICES"));
  EXPECT_TRUE(belongs_into_bundle("LD_PRELOAD"));
  for (const char* name : {"HOME", "HF_TOKEN", "WANDB_API_KEY", "NVIDIA_API_KEY", "TORCH_AUTH",
                           "AWS_SECRET_ACCESS_KEY", "PATH"}) {
    EXPECT_FALSE(belongs_into_bundle(name)) << name;
  }
}

TEST(Bundle, IsRedactedThroughout) {
  const char* variables[] = {"CUDA_HOME=/home/ada/cuda", "HF_TOKEN=hf_secret", "WITHOUT", nullptr};
  const std::vector<Finding> findings = {{"CUPTI", Finding::State::kUsable, "/home/ada/libcupti.so.13", ""}};
  const std::vector<PcieLink> links = {
      {.address = "0000:19:00.0", .upstream = "", .parent = "", .gpu = true}};
  const std::string text = bundle(findings, links, {}, variables, Redaction("/home/ada", "ada", "node7"));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["environment"]["CUDA_HOME"], "~/cuda");
  EXPECT_EQ(json["environment"].size(), 1u);
  EXPECT_EQ(json["doctor"]["findings"][0]["text"], "~/libcupti.so.13");
  EXPECT_EQ(json["links"][0]["address"], "0000:19:00.0");
  for (const char* word : {"ada", "secret", "node7"}) EXPECT_EQ(text.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace tferry::cli
