#include "collector/process_identity.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tferry::collector {
namespace {

TEST(ProcessIdentityTest, CommandsAreShownAsTyped) {
  EXPECT_EQ(masked_command({"python3", "train.py", "--batch", "8", "--lr=3e-4"}),
            "python3 train.py --batch 8 --lr=3e-4");
  EXPECT_EQ(masked_command({"sh", "-c", "echo hi"}), "sh -c 'echo hi'");
  EXPECT_EQ(masked_command({"prog", ""}), "prog ''");
}

TEST(ProcessIdentityTest, SecretsAreMasked) {
  EXPECT_EQ(masked_command({"train", "--api-key", "abc", "--steps", "3"}), "train --api-key *** --steps 3");
  EXPECT_EQ(masked_command({"train", "--wandb_api_key=abc"}), "train --wandb_api_key=***");
  EXPECT_EQ(masked_command({"env", "HF_TOKEN=hf_abc", "x"}), "env HF_TOKEN=*** x");
  EXPECT_EQ(masked_command({"get", "https://me:secret@host/path"}), "get https://***@host/path");
  EXPECT_EQ(masked_command({"x", "hf_abcdefghijklmnopqrst"}), "x ***");
  EXPECT_EQ(masked_command({"x", "--password", "-v"}), "x --password -v");
}

TEST(ProcessIdentityTest, WordsOfTheTradeAreNoSecrets) {
  EXPECT_EQ(masked_command({"t", "--tokenizer", "gpt2", "--max-tokens", "128", "--num_keys=4"}),
            "t --tokenizer gpt2 --max-tokens 128 --num_keys=4");
}

TEST(ProcessIdentityTest, LongCommandsAreCut) {
  const std::string line = masked_command({std::string(10000, 'x')});
  EXPECT_EQ(line.size(), 4099u);
  EXPECT_TRUE(line.ends_with("..."));
}

TEST(ProcessIdentityTest, RanksComeFromWhicheverLauncherSetThem) {
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                           "PMIX_RANK", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"}) {
    unsetenv(name);
  }
  EXPECT_EQ(Rank::from_environment().rank, -1);
  setenv("SLURM_PROCID", "3", 1);
  setenv("SLURM_LOCALID", "1", 1);
  setenv("SLURM_NTASKS", "8", 1);
  Rank rank = Rank::from_environment();
  EXPECT_EQ(rank.rank, 3);
  EXPECT_EQ(rank.local_rank, 1);
  EXPECT_EQ(rank.world_size, 8);
  setenv("RANK", "5", 1);
  EXPECT_EQ(Rank::from_environment().rank, 5);
  setenv("RANK", "five", 1);
  EXPECT_EQ(Rank::from_environment().rank, 3);
  setenv("RANK", "-7", 1);
  EXPECT_EQ(Rank::from_environment().rank, 3);
}

TEST(ProcessIdentityTest, KnowsItsOwnArguments) {
  const auto arguments = command_arguments();
  ASSERT_FALSE(arguments.empty());
  EXPECT_NE(arguments[0].find("test"), std::string::npos);
}

}  // namespace
}  // namespace tferry::collector
