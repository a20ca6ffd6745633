#include "trace/spool_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tferry::trace {
namespace {

using SpoolReaderTest = SpoolFixture;

TEST_F(SpoolReaderTest, ReaderFollowsALiveSpool) {
  auto writer = open({.flush_interval_ns = 1'000'000'000'000});
  SpoolReader reader(path());
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(reader.next());
    writer->append(numbered(i));
    writer->flush();
    const auto record = reader.next();
    ASSERT_TRUE(record);
    EXPECT_EQ(record->as<FreeRecord>()->allocation, i);
  }
  EXPECT_EQ(reader.status()->state, SpoolState::kRunning);
}

TEST_F(SpoolReaderTest, CutAnywhereReadsUpToTheLastWholeBlock) {
  auto writer = open();
  std::vector<std::size_t> ends;  // file size after each block of three records
  for (std::uint64_t i = 0; i < 30; ++i) {
    writer->append(numbered(i));
    if (i % 3 == 2) {
      writer->flush();
      ends.push_back(fs::file_size(path()));
    }
  }
  writer->close();
  const std::string whole = slurp(path());
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    if (size > 300 && size + 300 < kBlocksOffset) continue;  // inside the padding of the first pages
    spew(path("cut"), whole.substr(0, size));
    if (size < sizeof(SpoolHeader)) {
      EXPECT_NE(error_of(path("cut")), "") << size;
      continue;
    }
    SpoolReader reader(path("cut"));
    const auto blocks =
        static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin());
    ASSERT_EQ(read_numbers(reader), first_numbers(3 * blocks)) << size;
    EXPECT_EQ(reader.damage().damaged_blocks, 0);
    const std::size_t read_up_to = blocks == 0 ? kBlocksOffset : ends[blocks - 1];
    EXPECT_EQ(reader.unread_bytes(), size > read_up_to ? static_cast<std::int64_t>(size - read_up_to) : 0)
        << size;
  }
}

TEST_F(SpoolReaderTest, AFlippedByteCostsItsBlockOnly) {
  auto writer = open();
  for (std::uint64_t i = 0; i < 30; ++i) {
    writer->append(numbered(i));
    if (i % 3 == 2) writer->flush();
  }
  writer->close();
  const std::string whole = slurp(path());
  for (std::size_t at = kBlocksOffset; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    spew(path("flipped"), damaged);
    SpoolReader reader(path("flipped"));
    const std::size_t block = (at - kBlocksOffset) / ((whole.size() - kBlocksOffset) / 10);
    std::vector<std::uint64_t> expected = first_numbers(30);
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(3 * block),
                   expected.begin() + static_cast<std::ptrdiff_t>(3 * block + 3));
    ASSERT_EQ(read_numbers(reader), expected) << at;
    if (block == 9) {
      EXPECT_GT(reader.unread_bytes(), 0);
    } else {
      EXPECT_EQ(reader.damage().damaged_blocks, 1) << at;
      EXPECT_EQ(reader.damage().missing_blocks, 1) << at;
    }
  }
}

TEST_F(SpoolReaderTest, NeverCrashesOnMutatedFiles) {
  auto writer = open();
  for (std::uint64_t i = 0; i < 200; ++i) {
    writer->append(numbered(i));
    writer->intern("string " + std::to_string(i));
    if (i % 20 == 0) writer->flush();
  }
  writer->close();
  const std::string whole = slurp(path());
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string mutated = whole;
    for (std::uint64_t edits = random() % 8 + 1; edits > 0 && !mutated.empty(); --edits) {
      const std::size_t at = random() % mutated.size();
      switch (random() % 4) {
        case 0:
          mutated[at] = static_cast<char>(random());
          break;
        case 1:
          mutated.erase(at, random() % 5000);
          break;
        case 2:
          mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 5000));
          break;
        case 3:
          mutated.replace(at, std::min<std::size_t>(4, mutated.size() - at), "\xff\xff\xff\xff");
          break;
      }
    }
    spew(path("mutated"), mutated);
    try {
      SpoolReader reader(path("mutated"));
      while (auto record = reader.next()) ASSERT_LE(record->text().size(), mutated.size());
      reader.status();
    } catch (const SpoolError&) {
    }
  }
}

TEST_F(SpoolReaderTest, RefusesWhatIsNoSpoolWithAReason) {
  EXPECT_NE(error_of(path("absent")).find("No such file"), std::string::npos);
  spew(path("empty"), "");
  EXPECT_NE(error_of(path("empty")).find("is empty"), std::string::npos);
  spew(path("other"), std::string(5000, 'x'));
  EXPECT_NE(error_of(path("other")).find("not a Tensorferry spool"), std::string::npos);
  EXPECT_NE(error_of(directory_.path()).find("not a file"), std::string::npos);

  open()->close();
  std::string newer = slurp(path());
  newer[offsetof(SpoolHeader, version)] = 9;
  spew(path("newer"), newer);
  EXPECT_NE(error_of(path("newer")).find("format version 9, this tferry reads up to 1"), std::string::npos);
  std::string damaged = slurp(path());
  damaged[offsetof(SpoolHeader, pid)] ^= 1;
  spew(path("damaged"), damaged);
  EXPECT_NE(error_of(path("damaged")).find("damaged header"), std::string::npos);
}

struct ShortFree {
  static constexpr RecordKind kKind = RecordKind::kFree;
  std::int64_t time_ns;
  std::uint64_t allocation;
};
struct LongFree {
  static constexpr RecordKind kKind = RecordKind::kFree;
  FreeRecord known;
  std::uint64_t later;
};
struct Foreign {
  static constexpr RecordKind kKind = static_cast<RecordKind>(60);
  std::int64_t time_ns;
};

TEST_F(SpoolReaderTest, ReadsRecordsOfWritersThatKnowFewerOrMoreFields) {
  auto writer = open();
  writer->append(ShortFree{1, 41});
  writer->append(LongFree{{.time_ns = 2, .allocation = 42, .thread = 7}, 99});
  writer->append(Foreign{3});
  writer->close();
  SpoolReader reader(path());
  EXPECT_EQ(reader.next()->as<FreeRecord>()->allocation, 41u);
  const FreeRecord known = reader.next()->as<FreeRecord>().value();
  EXPECT_EQ(known.allocation, 42u);
  EXPECT_EQ(known.thread, 7u);
  const auto foreign = reader.next();
  ASSERT_TRUE(foreign);
  EXPECT_EQ(record_kind_name(foreign->kind()), "unknown");
  EXPECT_EQ(foreign->time_ns(), 3);
}

}  // namespace
}  // namespace tferry::trace
