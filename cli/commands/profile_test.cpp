// tferry profile end to end: the layers sample on the software driver, where there is no CUPTI, and jobs
// without any GPU.
#include "cli/testing/profile_fixture.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdint>
#include <string>

namespace tferry::cli {
namespace {

using testing_support::Ended;
namespace fs = std::filesystem;

class ProfileTest : public testing_support::ProfileFixture {};

/// The sample's own words: "..., footprint BYTES bytes".
std::int64_t footprint_told(const std::string& output) {
  const std::size_t at = output.find("footprint ");
  return at == std::string::npos ? -1 : std::stoll(output.substr(at + 10));
}

TEST_F(ProfileTest, AJobIsRecordedAnalyzedAndReported) {
  const Ended profile = sh("$T profile --counters off $S --buffers 24 --mib 4 --iterations 8");
  EXPECT_EQ(profile.exit_code(), 0) << profile.err;
  EXPECT_TRUE(profile.printed("answer ok ")) << profile.out;
  EXPECT_TRUE(profile.told("session: tferry-sample-layers.1.tferry (")) << profile.err;
  EXPECT_TRUE(profile.told("missing: GPU activity: the injected collector never reported in")) << profile.err;
  EXPECT_TRUE(fs::is_empty(places_));

  // The sample counts its buffers, not the 48 bytes in which kernels leave their sums, nor host memory.
  const Ended peak =
      sh("$T query 'SELECT max(live) AS peak FROM (SELECT sum(change) OVER (ORDER BY time, change ROWS "
         "UNBOUNDED PRECEDING) "
         "AS live FROM (SELECT alloc_ns AS time, bytes AS change FROM allocation WHERE bytes >= 4096 AND "
         "device_id > 0 UNION ALL SELECT free_ns, -bytes FROM "
         "allocation WHERE free_ns IS NOT NULL AND bytes >= 4096 AND device_id > 0))' --format csv");
  EXPECT_EQ(peak.out, "peak,known_by\n" + std::to_string(footprint_told(profile.out)) + ",measured\n");
  // The budget counts in granules of the small arena.
  const auto memory = nlohmann::json::parse(sh("$T report memory --format json").out);
  EXPECT_GE(memory["tables"][0]["rows"][0]["peak"], footprint_told(profile.out));
  EXPECT_LT(memory["tables"][0]["rows"][0]["peak"], footprint_told(profile.out) + (1 << 20));
  EXPECT_FALSE(profile.told("without closing it")) << profile.err;
  EXPECT_TRUE(sh("$T report quality").printed("never reported in"));
  EXPECT_TRUE(sh("$T report kernels").printed("unknown"));

  const Ended analysis = sh("$T analyze --oversubscribe 2");
  EXPECT_EQ(analysis.exit_code(), 0) << analysis.err;
  EXPECT_TRUE(analysis.printed("Iterations")) << analysis.out;
  EXPECT_NE(sh("$T query 'SELECT count(*) FROM iteration WHERE regular = 1' --format csv").out,
            "count(*),known_by\n0,measured\n");
}

/// "known WHAT COUNT of BYTES bytes" of the sample's own words.
std::string known(const std::string& plan, const std::string& what) {
  const std::string line = "known " + what + " ";
  const std::size_t at = plan.find(line);
  const std::size_t begin = at + line.size();
  return at == std::string::npos ? "nothing" : plan.substr(begin, plan.find('\n', begin) - begin);
}

// The same is asked of CUPTI's half on a GPU by benchmarks/profile.py.
TEST_F(ProfileTest, EveryCountAndByteThatTheHooksSawIsTheSamplesKnownAnswer) {
  const std::string job = "$S --buffers 14 --mib 4 --iterations 5 --hidden 3";
  const std::string plan = sh(job + " --plan-only").out;
  for (const std::string budget : {"unlimited", "32MiB"}) {
    ASSERT_EQ(
        sh("$T profile -q --force --counters off -o a.tferry --budget " + budget + " " + job).exit_code(), 0);
    const auto tally = [&](const std::string& from) {
      return ask("a.tferry", "SELECT count(*) || ' of ' || coalesce(sum(bytes), 0) || ' bytes' FROM " + from);
    };
    const std::string program = " WHERE owner <> 2";
    EXPECT_EQ(std::to_string(count("a.tferry", "kernel" + program)), known(plan, "kernel")) << budget;
    EXPECT_EQ(tally("memset" + program), known(plan, "memset")) << budget;
    EXPECT_EQ(tally("memcpy" + program + " AND kind = 1"), known(plan, "memcpy host_to_device")) << budget;
    EXPECT_EQ(tally("memcpy" + program + " AND kind = 2"), known(plan, "memcpy device_to_host")) << budget;
    EXPECT_EQ(tally("memcpy" + program + " AND kind = 3"), known(plan, "memcpy device_to_device")) << budget;
    EXPECT_EQ(tally("allocation WHERE memory_kind = 3"), known(plan, "allocation")) << budget;
    EXPECT_EQ(tally("allocation WHERE free_ns IS NOT NULL AND memory_kind = 3"), known(plan, "free"))
        << budget;
    EXPECT_LE(1, count("a.tferry", "allocation WHERE memory_kind = 2 AND device_id IS NULL"));
    EXPECT_LE(1, count("a.tferry",
                       "memcpy JOIN access USING (process_id, operation) JOIN allocation ON allocation.id = "
                       "access.allocation_id WHERE memcpy.kind = 1 AND memory_kind = 2 AND access.kind = 2"))
        << "what copies read from pinned memory";
  }
}

TEST_F(ProfileTest, TwoRecordingsOfAJobHaveTheSameStructureAlsoUnderABudget) {
  const std::string job = "$S --buffers 12 --mib 4 --iterations 4";
  ASSERT_EQ(sh("$T profile -q --counters off -o a.tferry " + job).exit_code(), 0);
  ASSERT_EQ(sh("$T profile -q --counters off -o b.tferry --budget 24MiB " + job).exit_code(), 0);
  const Ended compared = sh("$T compare --structure a.tferry b.tferry");
  EXPECT_EQ(compared.exit_code(), 0) << compared.out;
  EXPECT_TRUE(sh("$T report transfers b.tferry").printed("park"));
  EXPECT_TRUE(sh("$T report summary b.tferry").printed("24.0 MiB"));
}

TEST_F(ProfileTest, AKilledJobLeavesASessionAndItsSignal) {
  const Ended ended = sh(
      "exec $T profile --counters off -o a.tferry sh -c '$S --buffers 8 --mib 4 --iterations 4; kill -9 $$'");
  EXPECT_EQ(ended.signal(), SIGKILL) << ended.err;
  EXPECT_TRUE(ended.told("session: a.tferry (")) << ended.err;
  EXPECT_NE(sh("$T query 'SELECT count(*) FROM kernel' a.tferry --format csv").out,
            "count(*),known_by\n0,measured\n");
}

TEST_F(ProfileTest, NothingIsOverwrittenAndExitCodesAreTheJobs) {
  EXPECT_EQ(sh("$T profile -q --counters off sh -c 'exit 3'").exit_code(), 3);
  EXPECT_EQ(sh("$T profile -q --counters off sh -c 'exit 4'").exit_code(), 4);
  EXPECT_TRUE(fs::exists(root_ / "sh.1.tferry"));
  EXPECT_TRUE(fs::exists(root_ / "sh.2.tferry"));
  const Ended again = sh("$T profile --counters off -o sh.1.tferry touch started");
  EXPECT_EQ(again.exit_code(), 125);
  EXPECT_TRUE(again.told("sh.1.tferry exists already and is not overwritten")) << again.err;
  EXPECT_FALSE(fs::exists(root_ / "started"));
}

// Of a job of some seconds the last one and a half are kept, a little more where the machine is busy.
TEST_F(ProfileTest, KeepLastKeepsTheEndAndWhatItRefersTo) {
  const Ended ended = sh(
      "$T profile --counters off --keep-last 1s -o a.tferry sh -c 'exec $S --buffers 12 --mib 1 --iterations "
      "1500'");
  ASSERT_EQ(ended.exit_code(), 0) << ended.err;
  const std::string seconds =
      ask("a.tferry", "SELECT (SELECT max(call_ns) - min(call_ns) FROM kernel) / 1e9");
  EXPECT_GT(std::stoll(ask("a.tferry", "SELECT value FROM meta WHERE key = 'job.duration_ns'")),
            2'000'000'000)
      << "the job is too short to tell";
  EXPECT_LT(std::stod(seconds), 2.5);
  EXPECT_GT(std::stod(seconds), 0.9);
  EXPECT_EQ(count("a.tferry", "process"), 1);
  EXPECT_EQ(count("a.tferry", "kernel WHERE name_id IS NULL"), 0);
  EXPECT_EQ(count("a.tferry", "access WHERE allocation_id IS NULL"), 0);
  EXPECT_EQ(ask("a.tferry", "SELECT value FROM meta WHERE key = 'keep_last_ns'"), "1000000000");
  EXPECT_TRUE(sh("$T profile --keep-last 3 true").told("--keep-last: 3 is no time of a second or more"));
}

// What the sample's kernels do is known: a layer writes its output, over its input or elsewhere, and reads
// the rest; an update changes buffers by a table of addresses, through which nothing can be put back.
TEST_F(ProfileTest, TheAccessDirectionPassFindsWhatKernelsDoAndChangesNoAnswer) {
  const std::string job = "$S --buffers 14 --mib 4 --iterations 4 --hidden 3";
  const Ended plain = sh(job);
  const Ended tried = sh("$T profile --counters off --access-direction -o a.tferry " + job);
  ASSERT_EQ(tried.exit_code(), 0) << tried.err;
  const auto answer = [](const Ended& ended) {
    const std::size_t at = ended.out.find("answer ok ");
    return at == std::string::npos ? ended.out : ended.out.substr(at, 42);
  };
  EXPECT_EQ(answer(tried), answer(plain));
  const auto accesses = [&](const std::string& kernel, int kind) {
    return count("a.tferry",
                 "access JOIN kernel USING (process_id, operation) JOIN string ON string.id = name_id WHERE "
                 "known_by = 4 AND string.value = '" +
                     kernel + "' AND access.kind = " + std::to_string(kind));
  };
  const std::int64_t layers =
      count("a.tferry", "kernel JOIN string ON string.id = name_id WHERE string.value = 'layers_combine'");
  constexpr int kRead = 2, kWrite = 3, kReadWrite = 4;
  EXPECT_GT(layers, 0);
  EXPECT_GT(accesses("layers_combine", kWrite), 0);
  EXPECT_GT(accesses("layers_combine", kReadWrite), 0);
  EXPECT_EQ(accesses("layers_combine", kWrite) + accesses("layers_combine", kReadWrite), layers);
  EXPECT_GE(accesses("layers_combine", kRead), layers);
  EXPECT_GT(accesses("layers_fill", kWrite), 0);
  EXPECT_EQ(accesses("layers_fill", kRead) + accesses("layers_fill", kReadWrite), 0);
  EXPECT_GT(accesses("layers_sums", kRead), 0);
  EXPECT_EQ(accesses("layers_sums", kReadWrite), 0);
  EXPECT_EQ(accesses("layers_update_by_table", kWrite), 0);
  EXPECT_EQ(count("a.tferry", "access WHERE kind IN (3, 4) AND known_by = 4 AND bytes IS NULL"), 0);
  EXPECT_TRUE(sh("$T profile --access-direction --no-preload true").told("needs the preloaded runtime"));
  EXPECT_TRUE(sh("$T profile --access-direction --budget 1GiB true").told("and --budget moves it"));
}

/// The pass by pages needs records of unified memory: a CUPTI that shows what the software driver's pages do.
constexpr const char* kWithPages =
    "export SWD_INJECT=1 LD_LIBRARY_PATH=" TFERRY_SOFTWARE_DRIVER_DIR ":" TFERRY_FAKE_CUPTI_DIR "; ";

std::string answer_of(const Ended& ended) {
  const std::size_t at = ended.out.find("answer ok ");
  return at == std::string::npos ? ended.out : ended.out.substr(at, 42);
}

// What the sample's kernels touch is known: a fill writes its output, a layer writes one and reads the rest,
// and an update changes three weights whose addresses stand in a table in device memory only.
TEST_F(ProfileTest, TheAccessPassByPagesFindsWhatKernelsTouchByPointersTooAndChangesNoAnswer) {
  const std::string job = "$S --buffers 14 --mib 4 --iterations 4 --hidden 3";
  const Ended plain = sh(job);
  const Ended watched = sh(kWithPages + ("$T profile --counters off --access pages -o a.tferry " + job));
  ASSERT_EQ(watched.exit_code(), 0) << watched.err;
  EXPECT_EQ(answer_of(watched), answer_of(plain));
  EXPECT_TRUE(watched.told("access pages: ")) << watched.err;
  const auto accesses = [&](const std::string& kernel, int kind, const char* more = "") {
    return count("a.tferry",
                 "access JOIN kernel USING (process_id, operation) JOIN string ON string.id = name_id WHERE "
                 "known_by = 6 AND string.value = '" +
                     kernel + "' AND access.kind = " + std::to_string(kind) + more);
  };
  const auto launches = [&](const std::string& kernel) {
    return count("a.tferry",
                 "kernel JOIN string ON string.id = name_id WHERE string.value = '" + kernel + "'");
  };
  constexpr int kMayTouch = 1, kRead = 2, kWrite = 3, kReadWrite = 4;
  EXPECT_GT(launches("layers_combine"), 0);
  EXPECT_GE(accesses("layers_combine", kRead), launches("layers_combine"));
  EXPECT_GT(accesses("layers_combine", kWrite), 0);
  EXPECT_GT(accesses("layers_fill", kWrite), 0);
  EXPECT_EQ(accesses("layers_fill", kRead) + accesses("layers_fill", kReadWrite), 0);
  EXPECT_GT(accesses("layers_sums", kRead), 0);
  const char* kByPointer = " AND argument_offset IS NULL";
  EXPECT_EQ(accesses("layers_update_by_table", kRead, kByPointer), 3 * launches("layers_update_by_table"));
  for (const char* kernel : {"layers_combine", "layers_fill", "layers_sums"}) {
    for (const int kind : {kMayTouch, kRead, kWrite, kReadWrite})
      EXPECT_EQ(accesses(kernel, kind, kByPointer), 0);
  }
  EXPECT_EQ(count("a.tferry",
                  "(SELECT DISTINCT allocation_id FROM access WHERE known_by = 6 AND argument_offset "
                  "IS NULL)"),
            3);
  EXPECT_EQ(ask("a.tferry", "SELECT value FROM meta WHERE key = 'access_pages.undirected'"), "0");
  EXPECT_EQ(count("a.tferry", "loss WHERE what = 'access'"), 0);
  const std::string report = sh("$T report kernels a.tferry").out;
  EXPECT_NE(report.find("Memory that kernels reach by pointers in device memory"), std::string::npos)
      << report;
  const Ended analyzed = sh("$T analyze a.tferry --no-plan");
  EXPECT_EQ(analyzed.exit_code(), 0) << analyzed.err;
}

TEST_F(ProfileTest, WithoutRecordsOfUnifiedMemoryOrPagesThatMoveTheJobRunsWithoutThePassByPages) {
  const std::string profile = "$T profile --counters off --force -o a.tferry --access pages ";
  const std::string job = "$S --buffers 8 --mib 4 --iterations 2";
  const std::string answer = answer_of(sh(job));
  for (const std::string& line : {profile + job,  // nobody injects the collector
                                  kWithPages + ("FAKE_CUPTI_UNIFIED_MEMORY=30 " + profile + job)}) {
    const Ended refused = sh(line);
    EXPECT_EQ(refused.exit_code(), 0) << refused.err;
    EXPECT_EQ(answer_of(refused), answer);
    EXPECT_TRUE(refused.told("CUPTI gives no records of unified memory here")) << refused.err;
    EXPECT_EQ(count("a.tferry", "loss WHERE what = 'access' AND detail LIKE '%no launch was watched%'"), 1);
    EXPECT_GT(count("a.tferry", "access"), 0);
  }
  for (const char* call : {"cuMemAllocManaged:1+:801", "cuMemPrefetchAsync_v2:1+:801"}) {
    const Ended refused = sh(kWithPages + ("SWD_FAIL=" + std::string(call) + " ") + profile + job);
    EXPECT_EQ(refused.exit_code(), 0) << refused.err;
    EXPECT_EQ(answer_of(refused), answer);
    EXPECT_TRUE(refused.told("the job runs on without the pass")) << refused.err;
  }
  // 48 MiB on a card of 52: more than a managed region may have, and the card has it.
  const std::string tight = "$S --buffers 12 --mib 4 --iterations 2", card = "SWD_DEVICE_MEMORY=54525952 ";
  const Ended full = sh(kWithPages + card + profile + tight);
  EXPECT_EQ(full.exit_code(), 0) << full.err;
  EXPECT_EQ(answer_of(full), answer_of(sh(card + tight)));
  EXPECT_TRUE(full.told("does not fit what the card had free")) << full.err;
  EXPECT_TRUE(sh("$T profile --access pages --no-preload true").told("needs the preloaded runtime"));
  EXPECT_TRUE(sh("$T profile --access pages --budget 1GiB true").told("for which there is no --budget"));
  EXPECT_TRUE(sh("$T profile --access pages --access-direction true").told("are two passes"));
  EXPECT_TRUE(sh("$T profile --access pages --range time:1s+1s true").told("--range records a part of it"));
}

TEST_F(ProfileTest, AJobWithoutAGpuSaysWhatIsMissing) {
  const Ended ended = sh("unset LD_LIBRARY_PATH; $T profile --counters off -o a.tferry true");
  EXPECT_EQ(ended.exit_code(), 0);
  EXPECT_TRUE(ended.told("no process opened the CUDA driver, so nothing was injected")) << ended.err;
  EXPECT_EQ(sh("$T report summary a.tferry").exit_code(), 0);
}

TEST_F(ProfileTest, SpoolsCanBeKeptAndMerged) {
  ASSERT_EQ(
      sh("$T profile -q --counters off --keep-spools raw -o a.tferry $S --buffers 8 --mib 4 --iterations 4")
          .exit_code(),
      0);
  ASSERT_EQ(sh("$T merge -q raw -o b.tferry").exit_code(), 0);
  EXPECT_EQ(sh("$T compare --structure a.tferry b.tferry").exit_code(), 0);
  const Ended again = sh("$T profile --counters off --keep-spools raw true");
  EXPECT_EQ(again.exit_code(), 125);
  EXPECT_TRUE(again.told("raw is not empty")) << again.err;
}

TEST_F(ProfileTest, OptionsThatContradictAreRefused) {
  EXPECT_TRUE(sh("$T profile --no-preload --budget 1GiB true").told("--budget needs the preloaded runtime"));
  EXPECT_TRUE(sh("$T profile --counter-interval 1s true").told("--counter-interval: 1s is no time"));
  EXPECT_TRUE(sh("$T profile -o '%z' true").told("is not understood"));
  EXPECT_TRUE(sh("$T profile -o none/a.tferry true").told("none/a.tferry cannot be written"));
}

TEST_F(ProfileTest, WithoutAPreloadOnlyTheHooksAreMissing) {
  const Ended ended = sh("$T profile --no-preload --counters off -o a.tferry env");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_FALSE(ended.printed("LD_PRELOAD=")) << ended.out;
  EXPECT_TRUE(ended.printed("CUDA_INJECTION64_PATH=")) << ended.out;
  EXPECT_TRUE(sh("$T report quality a.tferry").printed("not recorded, as --no-preload asked for"));
}

}  // namespace
}  // namespace tferry::cli
